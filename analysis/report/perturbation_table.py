"""What measuring cost each size, by steps with stamps and without."""

from __future__ import annotations

from analysis.fetched import Row
from analysis.perturbation import lines, not_measured
from analysis.report import units
from analysis.report.markup import Column, details, first_rows, short, table, text

MOST_ROWS = 40
"""Of the table; the CSV has all."""
_DEFINITION = (
    "<p>After the measured steps of a size's first repeat come pairs of steps: one with the clock and its recorder, as "
    "measured steps have them, one with neither, in an order that is drawn for each pair. Both are timed from outside. "
    "The difference is the median over pairs, its interval lies between two of the pairs' own differences; on a GPU, "
    "which is idle before each of these steps, it is an upper bound. None of these steps is in any other figure.</p>"
)


def perturbation(rows: list[Row]) -> str:
    """`rows` of queries/perturbation.sql; nothing where no size was measured and none says why."""
    measured = [row for row in rows if row["pairs"]]
    said = " ".join(filter(None, [*lines(rows, short), not_measured(rows)]))
    if not measured:
        return f"<p>{said}</p>" if any(row["left_out"] for row in rows) else ""
    return (
        f"<p>{said}{first_rows(MOST_ROWS, len(measured))}</p>"
        + table("What measuring cost: one row per case and placement", _COLUMNS, measured[:MOST_ROWS])
        + details("How that is measured", _DEFINITION)
    )


def _difference(row: Row) -> str:
    return units.with_interval(row["difference_us"], row["difference_us_lo"], row["difference_us_hi"], "µs")


def _share(row: Row) -> str:
    return units.with_interval(row["share"], row["share_lo"], row["share_hi"], "%", 100)


_COLUMNS = [
    Column(label="case", cell=lambda row: text(row["case_name"])),
    Column(label="placement", cell=lambda row: text(row["placement"])),
    Column(label="step without", cell=lambda row: units.with_unit(row["bare_step_ms"], "ms"), numeric=True),
    Column(label="measuring adds [95\u00a0%]", cell=_difference, numeric=True),
    Column(label="of the step [95\u00a0%]", cell=_share, numeric=True),
    Column(label="pairs of steps", cell=lambda row: f"{row['pairs']:,}", numeric=True),
]
