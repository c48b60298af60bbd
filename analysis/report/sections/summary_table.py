"""The table of a scaling study: one row per measured case and placement, grouped by case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import CASE, PLACEMENT, label, minor, number_cell, text
from analysis.report.html.render import render
from analysis.tables.column import Column, shown
from analysis.tables.scaling import rates, ratio_parts
from analysis.wording import verdicts
from analysis.wording.caveats import of_rounds, ranges_of_rounds

MOST_ROWS = 60
"""The most rows of a readable table. If there are more, it shows the ends of the ranking and folds the whole."""
MOST_FOLDED = 500
"""Rows of a folded table; the CSV has all."""
ENDS = 10
"""Rows from each end of the ranking."""


def summary(points: list[Row]) -> Markup:
    """`points` of queries/summary.sql; empty if nothing was measured."""
    measured = [point for point in points if point["throughput"] is not None]
    if not measured:
        return Markup()
    ranked: dict[str, Any] = {}
    if len(measured) > MOST_ROWS:
        rows, measure = _ranking(measured)
        groups = [(f"the {ENDS} highest", rows[:ENDS]), (f"the {ENDS} lowest", rows[-ENDS:])]
        if len(rows) <= 2 * ENDS:
            groups = [("from the highest to the lowest", rows)]
        columns = [CASE, *_columns(rows)]
        ranked = {"count": len(rows), "measure": measure, "columns": columns, "groups": groups}
    return render(
        "sections/summary",
        omitted=len(points) - len(measured),
        of_rounds=" ".join([*of_rounds(measured), *ranges_of_rounds(measured)]),
        ranked=ranked,
        most=MOST_FOLDED,
        count=len(measured),
        columns=_columns(measured),
        groups=by_case(measured[:MOST_FOLDED]),
    )


def by_case(points: Iterable[Row]) -> list[tuple[Markup, list[Row]]]:
    """The rows of each case, with a heading: its name, strategy, scaling, batch and precision."""
    groups: dict[str, list[Row]] = {}
    for point in points:
        groups.setdefault(point["case_name"], []).append(point)
    return [(_heading(rows[0]), rows) for rows in groups.values()]


def _heading(point: Row) -> Markup:
    strong = point["scaling_mode"] == "strong"
    batch = point["global_batch" if strong else "batch_per_rank"]
    mode = [] if point["scaling_mode"] == "none" else [f"{point['scaling_mode']} scaling"]
    if batch is not None:
        mode.append(f"{'global batch' if strong else 'batch per rank'} {batch:,}")
    strategy = "strategy unknown" if point["strategy"] == "unknown" else point["strategy"]
    facts = Markup(" · ").join(text(fact) for fact in (strategy, ", ".join(mode), point["precision"]) if fact)
    return Markup("{} {}").format(text(point["case_name"]), minor(facts))


def _ranking(points: Sequence[Row]) -> tuple[list[Row], str]:
    """The largest size of every case, the best first, and the measure of the ranking: efficiency if any case has a
    verdict, otherwise throughput."""
    largest: dict[str, Row] = {}
    for point in points:
        if not point["oversubscribed"]:
            largest[point["case_name"]] = max(
                largest.get(point["case_name"], point), point, key=lambda row: row["workers"]
            )
    judged = [point for point in largest.values() if point["verdict"] and point["efficiency"] is not None]
    if judged:
        return sorted(judged, key=lambda row: row["efficiency"], reverse=True), "efficiency"
    return sorted(largest.values(), key=lambda row: row["throughput"], reverse=True), "throughput"


def verdict(row: Row) -> str:
    """The verdict as a coloured word."""
    if row.get("oversubscribed"):
        return label("oversubscribed", "none")
    if row["verdict"]:
        return label(row["verdict"], verdicts.tone(row["verdict"]) or "none")
    if row.get("is_baseline") and row["scaling_mode"] != "none":
        return label("baseline", "none")
    return units.UNKNOWN


def efficiency(row: Row) -> str:
    return _relative(row, "efficiency", "%", 100)


def _relative(row: Row, field: str, unit: str, factor: float = 1) -> str:
    return units.estimate(*ratio_parts(row, field, factor), unit)


def _scaled(show: Callable[[Row], str]) -> Callable[[Row], str]:
    return lambda row: units.UNKNOWN if row["scaling_mode"] == "none" else show(row)


def _judged(row: Row) -> str:
    said = [
        *([f"{row['repeats']}\u00a0of\u00a0{row['runs']}\u00a0ok"] if row["repeats"] < row["runs"] else []),
        *([f"{row['slow_runs']}\u00a0slow"] if row["slow_runs"] else []),
    ]
    if not said:
        return verdict(row)
    return Markup("{} {}").format(verdict(row), minor(", ".join(said)))


def rate(field: str) -> Callable[[Row], str]:
    """The row's throughput in examples or tokens, without its interval."""
    return lambda row: units.with_interval(row[field], row[f"{field}_lo"], row[f"{field}_hi"]).partition(" ")[
        0
    ]


def _columns(rows: Sequence[Row]) -> list[Column]:
    """The columns: results first, so that a phone shows them. Columns without values are left out."""
    is_compared = any(row["speedup"] is not None and not row["is_baseline"] for row in rows)
    return [
        PLACEMENT,
        *(_RELATIVE if is_compared else ()),
        *(Column(heading, rate(field), number=True) for heading, field in rates(rows)),
        *shown(_OPTIONAL, rows),
    ]


_RELATIVE = [
    Column("speedup [95\u00a0%]", lambda row: _relative(row, "speedup", "×"), number=True),
    Column("efficiency [95\u00a0%]", _scaled(efficiency), number=True),
    Column("verdict", _judged),
]
_OPTIONAL = [
    Column(
        "step ±\u00a0std",
        lambda row: units.with_spread(row["step_ms_mean"], row["step_ms_std"], "ms"),
        number=True,
        needs=("step_ms_mean",),
    ),
    Column(
        "time per\u00a0epoch",
        number_cell("time_per_epoch_s", units.seconds),
        number=True,
        needs=("time_per_epoch_s",),
    ),
    Column(
        "peak\u00a0memory per\u00a0rank",
        number_cell("peak_memory_allocated_bytes", units.bytes_),
        number=True,
        needs=("peak_memory_allocated_bytes",),
    ),
]
