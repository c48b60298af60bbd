"""What measure.until asked for and max_repeats did not give, in lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

Point = dict[str, Any]
"""A row of the table `scaling`."""


def still_too_wide(points: Sequence[Point], name: Callable[[str], str] = str) -> Iterator[str]:
    """One line per case and size whose throughput is less sure than was asked for. `name` makes of a case's name what
    is shown."""
    for point in _wider(points):
        more = point["repeats_needed_until"]
        would = "more than 1,000 more would be needed" if more is None else f"about {more:,} more would do"
        yield (
            f"{name(point['case_name'])} {point['placement']}: throughput within ±{_percent(_width(point))} after "
            f"{point['repeats']} repeats, ±{_percent(point['until'])} was asked for: {would}"
        )


def wider_than_asked(points: Sequence[Point]) -> str:
    """The same in one sentence without anyone's names; nothing where all are as narrow as they should be."""
    wider = _wider(points)
    if not wider:
        return ""
    asked = sum(point["until"] is not None for point in points)
    widths = " or ".join(f"±{_percent(until)}" for until in sorted({point["until"] for point in wider}))
    widest = f"the widest within ±{_percent(max(map(_width, wider)))}"
    return (
        f"Repeats were to narrow throughput to {widths} (measure.until): {len(wider):,} of {asked:,} rows stayed "
        f"wider, {widest}."
    )


def _wider(points: Sequence[Point]) -> list[Point]:
    return [
        point
        for point in points
        if point["until"] is not None
        and point["throughput_hi"] is not None
        and point["repeats_needed_until"] != 0
    ]


def _width(point: Point) -> float:
    """Of the interval, as a fraction of the throughput."""
    width: float = point["throughput_hi"] / point["throughput"] - 1
    return width


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g} %"
