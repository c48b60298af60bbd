"""The time of each size to the target."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import CASE, MOST_ROWS, PLACEMENT, interval_cell, number_cell, unbroken
from analysis.report.html.render import render
from analysis.tables.column import Column
from analysis.wording.numbers import telling_estimate
from analysis.wording.target import notes, sentence


def targets(rows: list[Row]) -> Markup:
    """`rows` of queries/time_to_target.sql; empty if no run was to train until a target."""
    if not rows:
        return Markup()
    return render(
        "sections/targets",
        summary=target_answer(rows),
        notes=[unbroken(line) for line in notes(rows)],
        columns=_COLUMNS,
        rows=rows[:MOST_ROWS],
        most=MOST_ROWS,
        count=len(rows),
    )


def target_answer(rows: list[Row]) -> str:
    return unbroken(sentence(rows) or "No size reaches the target in most of its runs.")


def _speedup(row: Row) -> str:
    return "baseline" if row["is_baseline"] else _RATIO(row)


def _reached(row: Row) -> str:
    return f"{row['reached']:,} of {row['reached'] + row['missed']:,}"


_RATIO = interval_cell("speedup", units.TIMES, apart_from=1, show=telling_estimate)
_COLUMNS = [
    CASE,
    PLACEMENT,
    Column("reached it", _reached, number=True),
    Column("steps", number_cell("steps", units.number), number=True),
    Column("time [95\u00a0%]", interval_cell("seconds", "s"), number=True),
    Column("speedup [95\u00a0%]", _speedup, number=True),
]
