"""Predictions of laws and communication for sizes that were not run, marked as predictions."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import minor, text
from analysis.report.html.render import render
from analysis.tables.column import Column
from analysis.tables.scaling import throughput_unit
from analysis.wording.numbers import is_too_wide
from analysis.wording.plain_text import counted

MOST_ROWS = 60
"""Rows of the table; the CSV has all."""
_LAWS = {"fitted": "law", "communication": "communication"}


def predictions(rows: list[Row]) -> Markup:
    """`rows` of queries/predictions.sql; empty without rows."""
    if not rows:
        return Markup()
    groups: dict[str, list[Row]] = {}
    for row in rows[:MOST_ROWS]:
        groups.setdefault(row["case_name"], []).append(row)
    columns = [
        Column("size", _size),
        Column("by", lambda row: _LAWS[row["law"]]),
        Column("speedup [95\u00a0%]", _predicted("speedup", "×"), number=True),
        Column("efficiency [95\u00a0%]", _predicted("efficiency", "%", 100), number=True),
        Column(throughput_unit(rows), _predicted("throughput"), number=True),
        Column(
            "largest size left\u00a0out", lambda row: units.signed_percent(row["left_out_error"]), number=True
        ),
    ]
    return render(
        "sections/predictions",
        columns=columns,
        groups=[(text(case), found) for case, found in groups.items()],
        most=MOST_ROWS,
        count=len(rows),
    )


def _size(row: Row) -> Markup:
    size = counted(row["workers"], row["axis"]).replace(" ", "\u00a0")
    return Markup("{} {}").format(size, minor("predicted"))


def _predicted(field: str, unit: str = "", factor: float = 1) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        low, high = row[f"{field}_lo"], row[f"{field}_hi"]
        if is_too_wide(low, high):
            return "cannot be said"
        return "≈\u00a0" + units.with_interval(row[field], low, high, unit, factor)

    return cell
