"""The cost of measuring at each size, from steps with and without the recorder."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import (
    CASE,
    MOST_ROWS,
    PLACEMENT,
    count_cell,
    interval_cell,
    number_cell,
    short,
    trusted,
)
from analysis.report.html.render import render
from analysis.tables.column import Column
from analysis.wording.recorder_overhead import lines, not_measured


def perturbation(rows: list[Row]) -> Markup:
    """`rows` of queries/perturbation.sql; empty if no size was measured or has a reason why not."""
    measured = [row for row in rows if row["pairs"]]
    if not measured and not any(row["left_out"] for row in rows):
        return Markup()
    summary = " ".join(filter(None, [*lines(rows, short), not_measured(rows)]))
    return render(
        "sections/overhead", summary=trusted(summary), columns=_COLUMNS, rows=measured, most=MOST_ROWS
    )


_COLUMNS = [
    CASE,
    PLACEMENT,
    Column("step without", number_cell("bare_step_ms", units.milliseconds), number=True),
    Column("measuring adds [95\u00a0%]", interval_cell("difference_us", "µs"), number=True),
    Column("of the step [95\u00a0%]", interval_cell("share", "%", 100), number=True),
    Column("pairs of steps", count_cell("pairs"), number=True),
]
