"""Time to a target: what each size needed, and its efficiency to it as a product of factors."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import CASE, MOST_ROWS, PLACEMENT, minor, number_cell, unbroken
from analysis.report.html.render import render
from analysis.tables.column import Column, shown
from analysis.wording.target import TONES, censored, sentence


def targets(rows: list[Row]) -> Markup:
    """`rows` of queries/target_efficiency.sql; empty if no run was to train until a target."""
    if not rows:
        return Markup()
    first = rows[:MOST_ROWS]
    return render(
        "sections/targets",
        summary=target_answer(rows),
        censored=[unbroken(line) for line in censored(rows)],
        columns=shown(_COLUMNS, first),
        rows=first,
        most=MOST_ROWS,
        count=len(rows),
    )


def target_answer(rows: list[Row]) -> str:
    """The efficiency of the largest size to the target, in a sentence."""
    return unbroken(sentence(rows) or "No size is compared with another one.")


def _needed(field: str, show: Callable[[float | None], str]) -> Callable[[Row], Markup | str]:
    def cell(row: Row) -> Markup | str:
        low, high = row[f"{field}_lo"], row[f"{field}_hi"]
        if row[field] is None:
            return units.UNKNOWN if low is None else f"≥\u00a0{show(low)}"
        ends = minor(f"[{show(low)}, {show(high)}]") if low is not None and high is not None else ""
        return Markup("{} {}").format(show(row[field]), ends)

    return cell


def _ratio(field: str, unit: str = "", factor: float = 1) -> Callable[[Row], Markup | str]:
    def cell(row: Row) -> Markup | str:
        low, high = row[f"{field}_lo"], row[f"{field}_hi"]
        if row["is_baseline"]:
            return units.with_interval(row[field], None, None, unit, factor)
        if row[field] is None and row["bound"] is not None:
            end = high if row["bound"] == "at most" else low
            return f"{TONES[row['bound']]}\u00a0{units.with_interval(end, None, None, unit, factor)}"
        return units.with_interval(row[field], low, high, unit, factor, apart_from=factor)

    return cell


def _reached(row: Row) -> str:
    return f"{row['reached']:,} of {row['runs']:,}"


_COLUMNS = [
    CASE,
    PLACEMENT,
    Column("reached it", _reached, number=True),
    Column("efficiency [95\u00a0%]", _ratio("efficiency", "%", 100), number=True, needs=("baseline_case",)),
    Column("= throughput per worker", _ratio("throughput_factor"), number=True, needs=("throughput_factor",)),
    Column("× progress per example", _ratio("examples_factor"), number=True, needs=("baseline_case",)),
    Column("× clock spent training", _ratio("share_factor"), number=True, needs=("share_factor",)),
    Column("examples [95\u00a0%]", _needed("examples", units.number), number=True),
    Column("time [95\u00a0%]", _needed("seconds", units.seconds), number=True),
    Column(
        "of it: training",
        number_cell("training_share", units.percent),
        number=True,
        needs=("training_share",),
    ),
    Column(
        "validation", number_cell("validation_share", units.percent), number=True, needs=("validation_share",)
    ),
    Column("start-up", number_cell("setup_share", units.percent), number=True, needs=("setup_share",)),
]
