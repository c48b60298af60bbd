"""What measure.until asked for and max_repeats did not give, in lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

Point = dict[str, Any]
"""A row of the view `scaling`."""


def still_too_wide(points: Sequence[Point], name: Callable[[str], str] = str) -> Iterator[str]:
    """One line per case and size whose throughput is less sure than was asked for. `name` makes of a case's name what
    is shown."""
    for point in points:
        if (
            point["until"] is not None
            and point["throughput_hi"] is not None
            and point["repeats_needed_until"] != 0
        ):
            width = point["throughput_hi"] / point["throughput"] - 1
            more = point["repeats_needed_until"]
            would = (
                "more than 1,000 more would be needed" if more is None else f"about {more:,} more would do"
            )
            yield (
                f"{name(point['case_name'])} {point['placement']}: throughput within ±{_percent(width)} after "
                f"{point['repeats']} repeats, ±{_percent(point['until'])} was asked for: {would}"
            )


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g} %"
