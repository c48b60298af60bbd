"""Which strategy each size speaks for, and why: one row per placement and pair of cases."""

from __future__ import annotations

from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import Column, first_rows, table, text
from analysis.report.summary_table import label

MOST_ROWS = 40
"""Of the table; the CSV has all."""

_READING = (
    "Cases that differ in strategy alone. Time is that of a step, of the second case to the first: above 1 the second "
    "is slower. Memory is a rank's peak."
)


def strategies(rows: list[Row]) -> str:
    """`rows`: queries/strategies.sql. Nothing where none was run on both sides."""
    run = [row for row in rows if not row["only_skipped"]]
    if not run:
        return ""
    more = first_rows(MOST_ROWS, len(run))
    caption = "Strategies: one row per placement and pair of cases"
    reading = f'<p class="reading">{_READING}{more}</p>' + _left_out(len(rows) - len(run))
    return reading + table(caption, _COLUMNS, run[:MOST_ROWS])


def _left_out(count: int) -> str:
    if not count:
        return ""
    pairs = "pair of which a side was skipped is" if count == 1 else "pairs of which a side was skipped are"
    return (
        f'<p class="reading">{count:,} {pairs} left out here; <a href="#coverage">Coverage</a> says why.</p>'
    )


def _pair(row: Row) -> str:
    return f"{text(row['reference_case'])}, {text(row['case_name'])}"


def _time(row: Row) -> str:
    return units.with_interval(
        row["time_ratio"], row["time_ratio_lo"], row["time_ratio_hi"], "×", apart_from=1
    )


def _memory(row: Row) -> str:
    return f"{units.bytes_(row['reference_peak_memory_bytes'])}, {units.bytes_(row['peak_memory_bytes'])}"


def _recommendation(row: Row) -> str:
    return label("none" if row["recommendation"] == "undecided" else "good", row["recommendation"])


def _reason(row: Row) -> str:
    """Without the recommendation, which stands in a column of its own."""
    return text(row["reason"].partition(": ")[2])


_COLUMNS = [
    Column(label="cases", cell=_pair),
    Column(label="placement", cell=lambda row: text(row["placement"])),
    Column(label="recommended", cell=_recommendation),
    Column(label="because", cell=_reason),
    Column(label="time [95\u00a0%]", cell=_time, numeric=True),
    Column(label="memory of a rank", cell=_memory, numeric=True),
]
