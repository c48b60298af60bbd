"""Sets of moments on one clock, as disjoint intervals in ascending order; they describe what a device was doing."""

from __future__ import annotations

from collections.abc import Iterable

Interval = tuple[int, int]
"""Begin and end, ns; the end is exclusive."""


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The moments in at least one interval; intervals that overlap or touch are merged."""
    merged: list[Interval] = []
    for begin, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def within(intervals: Iterable[Interval], window: Interval) -> list[Interval]:
    """The parts of the intervals inside the window."""
    begin, end = window
    return union((max(begin, first), min(end, last)) for first, last in intervals)


def minus(those: list[Interval], others: list[Interval]) -> list[Interval]:
    """The moments of `those` that are not in `others`; both must be results of `union`."""
    # Sweep over all borders, counting the intervals of both kinds that cover the moment.
    borders = sorted(
        [(begin, 1, 0) for begin, _ in those]
        + [(end, -1, 0) for _, end in those]
        + [(begin, 0, 1) for begin, _ in others]
        + [(end, 0, -1) for _, end in others]
    )
    left: list[Interval] = []
    covered = hidden = 0
    since = 0
    for moment, of_those, of_others in borders:
        if covered and not hidden and since < moment:
            left.append((since, moment))
        covered, hidden, since = covered + of_those, hidden + of_others, moment
    return union(left)


def total(intervals: Iterable[Interval]) -> int:
    """Sum of the lengths; for a union, the time that it covers."""
    return sum(end - begin for begin, end in intervals)
