"""The one sentence with which a session closes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.plain import number

Point = dict[str, Any]
"""A row of the view `scaling`."""


_BANDS = ((1.05, "superlinear"), (0.90, "excellent"), (0.75, "good"), (0.50, "acceptable"))
"""The thresholds of the view `scaling`."""


def closing_sentence(points: Sequence[Point]) -> str:
    """Speedup and efficiency of the most telling row of `scaling`: the largest size, strong scaling first."""
    measured = [point for point in points if point["throughput"] is not None]
    if not measured:
        return "No run of this session is ok, so there is no speedup to tell."
    compared = [point for point in measured if point["speedup"] is not None and not point["is_baseline"]]
    if not compared:
        best = max(measured, key=lambda point: point["throughput"])
        return (
            f"{best['case_name']} on {_size(best)} trains {number(best['throughput'], 4)} examples/s; nothing ran at a "
            "second size, so there is no speedup to tell."
        )
    return _sentence(max(compared, key=_telling))


def _telling(point: Point) -> tuple[Any, ...]:
    return (not point["oversubscribed"], point["scaling"] == "strong", point["workers"], point["throughput"])


def _sentence(point: Point) -> str:
    kind = "scaled speedup" if point["scaling"] == "weak" else "speedup"
    over = f"{point['baseline_workers']:,} {_axis(point['axis'], point['baseline_workers'])}"
    if point["baseline_case"] != point["case_name"]:
        over = f"{point['baseline_case']} on {over}"
    return (
        f"{point['case_name']} on {_size(point)}: {kind} {point['speedup']:.2f}"
        f"{_interval(point['speedup_lo'], point['speedup_hi'], 1, 2)} over {over}, efficiency "
        f"{100 * point['efficiency']:.1f} %{_interval(point['efficiency_lo'], point['efficiency_hi'], 100, 1)}"
        f"{_judgement(point)}."
    )


def _judgement(point: Point) -> str:
    if point["oversubscribed"]:
        return "; no verdict, because there were more ranks than slots"
    verdict = f": {point['verdict']}" if point["verdict"] else ""
    if point["speedup_lo"] is None:
        return f"{verdict} (fewer than two repeats: no interval)"
    low, high = _band(point["efficiency_lo"]), _band(point["efficiency_hi"])
    return verdict if low == high else f"{verdict}, though the interval reaches from {low} to {high}"


def _band(efficiency: float) -> str:
    """What the verdict would be at that efficiency."""
    return next((name for limit, name in _BANDS if efficiency >= limit), "poor")


def _interval(low: float | None, high: float | None, factor: float, decimals: int) -> str:
    if low is None or high is None:
        return ""
    return f" [{factor * low:.{decimals}f}, {factor * high:.{decimals}f}]"


def _size(point: Point) -> str:
    size = f"{point['workers']:,} {_axis(point['axis'], point['workers'])}"
    return f"{size} over {point['nodes']} nodes" if point["nodes"] > 1 else size


def _axis(axis: str, count: int) -> str:
    return axis.removesuffix("s") if count == 1 else axis
