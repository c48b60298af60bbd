"""Interval arithmetic against a bitmap of moments."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from bench.measure.profile.intervals import minus, total, union, within

MOMENTS = 40


def drawn(draw: random.Random) -> list[tuple[int, int]]:
    return [(draw.randrange(MOMENTS), draw.randrange(MOMENTS + 1)) for _ in range(draw.randrange(8))]


def bitmap(intervals: list[tuple[int, int]]) -> list[bool]:
    return [any(begin <= moment < end for begin, end in intervals) for moment in range(MOMENTS)]


@pytest.mark.parametrize("seed", range(200))
def test_union_difference_and_window_are_those_of_a_bitmap(seed):
    draw = random.Random(seed)
    one, other = drawn(draw), drawn(draw)
    window = sorted((draw.randrange(MOMENTS), draw.randrange(MOMENTS)))
    left = minus(union(one), union(other))
    assert bitmap(union(one)) == bitmap(one)
    assert bitmap(left) == [a and not b for a, b in zip(bitmap(one), bitmap(other), strict=True)]
    inside = within(one, (window[0], window[1]))
    assert bitmap(inside) == [
        is_in and window[0] <= moment < window[1] for moment, is_in in enumerate(bitmap(one))
    ]
    for disjoint in (union(one), left, inside):
        assert total(disjoint) == sum(bitmap(disjoint))
        assert all(earlier[1] < later[0] for earlier, later in pairwise(disjoint))


def test_intervals_that_touch_become_one_and_empty_ones_vanish():
    assert union([(3, 5), (0, 3), (7, 7)]) == [(0, 5)]
