"""Slow runs of a session, for nodes that decide without DuckDB whether to repeat.

The table in results.duckdb-schema/derived/slow_runs.sql is the same (tested); docs/methodology/scaling.md has the
test."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

_LEAST_SLOWDOWN = 1.2
_LEAST_DEVIATIONS = 8
"""Least distance from the typical run, in standard deviations of ordinary runs."""
_LEAST_GAP = 6
"""Least distance from the size's other runs, in their standard deviations."""
_OF_MEDIAN = 1.4826
"""Standard deviation of a normal distribution ÷ the median distance from its middle."""


def slow_runs(log_times: Sequence[Mapping[int, float]]) -> set[tuple[int, int]]:
    """The slow runs as (size, round); a size is a place in `log_times`, which has ln(time) of its ok runs by round."""
    sizes = {place: dict(times) for place, times in enumerate(log_times) if len(times) > 2}
    if not sizes:
        return set()
    _subtract_typical(sizes)
    if len(sizes) > 2:  # of two, a slow run and a slow round look alike
        for _ in range(2):
            _subtract_rounds(sizes)
            _subtract_typical(sizes)
    repeats = max(map(len, sizes.values()))
    taken = repeats * len(sizes) / ((repeats - 1) * max(1, len(sizes) - 1))
    distances = [abs(excess) for times in sizes.values() for excess in times.values()]
    deviation = _OF_MEDIAN * statistics.median(distances) * math.sqrt(taken)
    least = max(math.log(_LEAST_SLOWDOWN), _LEAST_DEVIATIONS * deviation)
    return {(place, number) for place, times in sizes.items() for number in _apart(times, least)}


def _subtract_typical(sizes: dict[int, dict[int, float]]) -> None:
    """The typical run is one of the fastest of its size, because disturbances only add time."""
    for times in sizes.values():
        typical = sorted(times.values())[max(2, math.ceil(len(times) / 4)) - 1]
        times.update({number: time - typical for number, time in times.items()})


def _subtract_rounds(sizes: dict[int, dict[int, float]]) -> None:
    for number in set().union(*sizes.values()):
        median = statistics.median_low(times[number] for times in sizes.values() if number in times)
        for times in sizes.values():
            if number in times:
                times[number] -= median


def _apart(excesses: Mapping[int, float], least: float) -> list[int]:
    """The rounds of one size whose runs are slow."""
    candidates = [number for number, excess in excesses.items() if excess > least]
    others = [excess for excess in excesses.values() if excess <= least]
    if not candidates or len(candidates) > max(1, len(excesses) - 2):
        return []
    gap = min(excesses[number] for number in candidates) - max(others)
    return candidates if gap > _LEAST_GAP * statistics.stdev(others) else []
