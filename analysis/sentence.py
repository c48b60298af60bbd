"""The one sentence with which a session closes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from analysis import verdicts
from analysis.rounding import estimate

Point = dict[str, Any]
"""A row of the table `scaling`."""
_IN_REASON = 2
"""So many times the repeats that there are may be advised on top of them, as by the rules of repeats."""


def closing_sentence(points: Sequence[Point], name: Callable[[str], str] = str, machine: str = "") -> str:
    """Speedup and efficiency of the most telling row of `scaling`: the largest size, strong scaling first; of equals
    the first, so that the suite's order of cases decides. `name` makes of a case's name, the only text in it that is
    not ours, what is shown. `machine` says what runs that train nothing found, and is the answer where nothing was
    trained."""
    measured = [point for point in points if point["throughput"] is not None]
    if not measured and machine:
        return machine
    if not measured and any(point["elapsed_s"] is not None for point in points):
        return "Nothing was trained, so there is no speedup to tell."
    if not measured:
        return "No run of this session is ok, so there is no speedup to tell."
    telling = most_telling(points)
    if telling is None:
        best = max(measured, key=lambda point: point["throughput"])
        throughput = _estimate(best, "throughput")[0]
        unit = best["throughput_unit"]
        return (
            f"{name(best['case_name'])} on {size_of(best)} {'trains' if unit == 'examples/s' else 'completes'} "
            f"{throughput} {unit}; nothing ran at a second size, so there is no speedup to tell."
        )
    return _sentence(telling, name)


def most_telling(points: Sequence[Point]) -> Point | None:
    """The row that the sentence is about; none where nothing is compared with anything."""
    compared = [
        point
        for point in points
        if point["throughput"] is not None and point["speedup"] is not None and not point["is_baseline"]
    ]
    return max(compared, key=_telling, default=None)


def _telling(point: Point) -> tuple[Any, ...]:
    return (not point["oversubscribed"], point["scaling"] == "strong", point["workers"])


def _sentence(point: Point, name: Callable[[str], str]) -> str:
    kind = "scaled speedup" if point["scaling"] == "weak" else "speedup"
    over = f"{point['baseline_workers']:,} {_axis(point['baseline_axis'], point['baseline_workers'])}"
    if point["baseline_case"] != point["case_name"]:
        over = f"{name(point['baseline_case'])} on {over}"
    speedup = " ".join(filter(None, _estimate(point, "speedup")))
    said = f"{name(point['case_name'])} on {size_of(point)}: {kind} {speedup} over {over}"
    if point["efficiency"] is None:
        kinds = f"{point['device_type']} against {point['baseline_device_type']}"
        return f"{said}; {kinds}, so without efficiency{_judgement(point)}."
    efficiency, interval = _estimate(point, "efficiency", 100)
    return f"{said}, efficiency {efficiency} %{interval and f' {interval}'}{_judgement(point)}."


def _estimate(point: Point, name: str, factor: float = 1) -> tuple[str, str]:
    ends = (point[f"{name}_{end}"] for end in ("lo", "hi"))
    low, high = (None if end is None else factor * end for end in ends)
    return estimate(factor * point[name], low, high)


def _judgement(point: Point) -> str:
    if point["oversubscribed"]:
        return "; no verdict, because ranks had to share slots or cores"
    verdict = f": {point['verdict']}" if point["verdict"] else ""
    if point["speedup_lo"] is None:
        return f"{verdict} (fewer than two repeats: no interval)"
    return verdict + _certainty(point)


def _certainty(point: Point) -> str:
    """What else the interval allows."""
    slower = f", slower than on fewer {point['axis']}" if point["verdict"] == "retrograde" else ""
    low, high = point["verdict_lo"], point["verdict_hi"]
    if low == high:
        return slower
    if not verdicts.is_open(point):
        return f"{slower}, though the interval reaches from {low} to {high}"
    would = _would_decide(point)
    return f"{slower}; but {point['repeats']} repeats do not decide it{would}: anything from {low} to {high}"


def _would_decide(point: Point) -> str:
    """Repeats, where they are in reason."""
    more = point["repeats_needed"]
    if more is None:
        return ""
    if more > _IN_REASON * point["repeats"]:
        return " (more repeats alone will not: a quieter machine would)"
    return f" (about {more:,} more would)"


def size_of(point: Point) -> str:
    size = f"{point['workers']:,} {_axis(point['axis'], point['workers'])}"
    return f"{size} over {point['nodes']} nodes" if point["nodes"] > 1 else size


def _axis(axis: str, count: int) -> str:
    return axis.removesuffix("s") if count == 1 else axis
