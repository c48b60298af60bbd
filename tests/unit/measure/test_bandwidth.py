"""Bandwidths agree with those that nccl-tests prints."""

from __future__ import annotations

import pytest

from bench.measure.machine.bandwidth import OPS, algorithm_gbps, bus_factor


def test_a_gigabyte_in_a_second_is_one_gigabyte_per_second() -> None:
    assert algorithm_gbps(10**9, 10**9) == 1.0


@pytest.mark.parametrize(
    ("op", "factor"),
    [("all_reduce", 1.75), ("all_gather", 0.875), ("reduce_scatter", 0.875), ("broadcast", 1.0)],
)
def test_bus_bandwidth_over_eight_ranks(op: str, factor: float) -> None:
    assert bus_factor(op, 8) == factor


def test_one_rank_sends_nothing_over_a_link() -> None:
    assert [bus_factor(op, 1) for op in OPS] == [0.0, 0.0, 0.0, 1.0]
