"""The familiar table of a scaling study: one row per case and placement that was measured, grouped by case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from analysis import verdicts
from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import Column, details, grouped_table, text
from analysis.summary_columns import throughput_unit

MOST_ROWS = 60
"""Of a table that one still reads; beyond it stand the ends of the ranking, and the whole is folded away."""
ENDS = 10
"""Rows from each end of the ranking."""

_TONES = {
    "superlinear": "good",
    "excellent": "good",
    "good": "good",
    "acceptable": "fair",
    "poor": "bad",
    "retrograde": "bad",
}


def summary(points: list[Row]) -> str:
    """`points` are rows of queries/summary.sql."""
    measured = [point for point in points if point["throughput"] is not None]
    if not measured:
        return ""
    return _left_out(len(points) - len(measured)) + (
        _whole(measured) if len(measured) <= MOST_ROWS else _ends(measured) + _folded(measured)
    )


def _left_out(count: int) -> str:
    if not count:
        return ""
    placements = "placement without an ok run is" if count == 1 else "placements without an ok run are"
    return f'<p class="reading">{count:,} {placements} left out here; <a href="#coverage">Coverage</a> says why.</p>'


def _whole(measured: list[Row]) -> str:
    caption = "Summary: one row per case and placement, grouped by case"
    return grouped_table(caption, _shown(measured), by_case(measured))


def by_case(points: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """The rows of each case under its name and what distinguishes it."""
    groups: dict[str, list[Row]] = {}
    for point in points:
        groups.setdefault(point["case_name"], []).append(point)
    return [(_heading(rows[0]), rows) for rows in groups.values()]


def _heading(point: Row) -> str:
    facts = [text(fact) for fact in (_strategy(point), _mode(point), point["precision"]) if fact]
    return f'{text(point["case_name"])} <span class="interval">{" · ".join(facts)}</span>'


def _strategy(point: Row) -> str:
    """An import may not say it."""
    return "strategy unknown" if point["strategy"] == "unknown" else str(point["strategy"])


def _mode(point: Row) -> str:
    """How the case scales, and its batch, which of an import is not known."""
    strong = point["scaling"] == "strong"
    batch = point["global_batch" if strong else "batch_per_rank"]
    mode = f"{point['scaling']} scaling" if point["scaling"] != "none" else ""
    size = "" if batch is None else f"global batch {batch:,}" if strong else f"batch per rank {batch:,}"
    return ", ".join(filter(None, [mode, size]))


def _ends(measured: list[Row]) -> str:
    """The best and the worst of the largest sizes of all cases."""
    ranked, measure = ranking(measured)
    said = f"The largest size of each of {len(ranked):,} cases, by {measure}"
    groups = [(f"the {ENDS} highest", ranked[:ENDS]), (f"the {ENDS} lowest", ranked[-ENDS:])]
    if len(ranked) <= 2 * ENDS:
        groups = [("from the highest to the lowest", ranked)]
    case = Column(label="case", cell=lambda row: text(row["case_name"]))
    return f'<p class="reading">{said}:</p>' + grouped_table(
        f"Summary: {said}", [case, *_shown(ranked)], groups
    )


def ranking(points: Sequence[Row]) -> tuple[list[Row], str]:
    """The largest size of every case from the best to the worst, by efficiency where any is judged, and by what."""
    largest: dict[str, Row] = {}
    for point in points:
        if not point["oversubscribed"]:
            largest[point["case_name"]] = max(
                largest.get(point["case_name"], point), point, key=lambda row: row["workers"]
            )
    judged = [point for point in largest.values() if point["verdict"]]
    if judged:
        return sorted(judged, key=lambda row: row["efficiency"], reverse=True), "efficiency"
    return sorted(largest.values(), key=lambda row: row["throughput"], reverse=True), "throughput"


def _folded(measured: list[Row]) -> str:
    return details(f"All {len(measured):,} placements", _whole(measured))


def verdict(row: Row) -> str:
    """The verdict in words, with a colour that adds to them."""
    if row.get("oversubscribed"):
        return label("none", "oversubscribed")
    if told := verdicts.told(row):
        return label(_TONES.get(told, "none"), told)
    if row.get("is_baseline") and row["scaling"] != "none":
        return label("none", "baseline")
    return units.UNKNOWN


def label(tone: str, said: str) -> str:
    """A word whose colour is `good`, `fair`, `bad` or `none`."""
    return f'<span class="label {tone}">{text(said)}</span>'


def efficiency(row: Row) -> str:
    return _relative(row, "efficiency", "%", 100)


def _relative(row: Row, name: str, unit: str, factor: float = 1) -> str:
    """A baseline is its own measure, so that its interval is none."""
    low, high = (None if row.get("is_baseline") else row[f"{name}_{end}"] for end in ("lo", "hi"))
    return units.with_interval(row[name], low, high, unit, factor)


def _scaled(show: Callable[[Row], str]) -> Callable[[Row], str]:
    return lambda row: units.UNKNOWN if row["scaling"] == "none" else show(row)


def _judged(row: Row) -> str:
    if row["repeats"] == row["runs"]:
        return verdict(row)
    return f'{verdict(row)} <span class="interval">{row["repeats"]}\u00a0of\u00a0{row["runs"]}\u00a0ok</span>'


def _rate(row: Row) -> str:
    return units.with_interval(row["throughput"], row["throughput_lo"], row["throughput_hi"]).partition(" ")[
        0
    ]


def _shown(rows: Iterable[Row]) -> list[Column]:
    """Results first, so that a phone shows what matters; what no row has is left out."""
    found = list(rows)
    optional = [column for name, column in _OPTIONAL.items() if any(row[name] is not None for row in found)]
    is_compared = any(row["scaling"] != "none" and not row["is_baseline"] for row in found)
    rate = Column(label=throughput_unit(found), cell=_rate, numeric=True)
    return [_PLACEMENT, *(_RELATIVE if is_compared else ()), rate, *optional]


_PLACEMENT = Column(label="placement", cell=lambda row: text(row["placement"]))
_RELATIVE = [
    Column(
        label="speedup [95\u00a0%]", cell=_scaled(lambda row: _relative(row, "speedup", "×")), numeric=True
    ),
    Column(label="efficiency [95\u00a0%]", cell=_scaled(efficiency), numeric=True),
    Column(label="verdict", cell=_judged),
]
_OPTIONAL = {
    "step_ms_mean": Column(
        label="step ±\u00a0std",
        cell=lambda row: units.with_spread(row["step_ms_mean"], row["step_ms_std"], "ms"),
        numeric=True,
    ),
    "time_per_epoch_s": Column(
        label="time per\u00a0epoch", cell=lambda row: units.seconds(row["time_per_epoch_s"]), numeric=True
    ),
    "peak_memory_allocated_bytes": Column(
        label="peak\u00a0memory per\u00a0rank",
        cell=lambda row: units.bytes_(row["peak_memory_allocated_bytes"]),
        numeric=True,
    ),
}
