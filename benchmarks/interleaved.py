"""Compare two ways to do the same work, in one process.

Short blocks of both alternate, in random order within each pair, so that other load on the machine affects both alike,
and slow drift does not affect a pair's quotient. Prints medians of the quotients with 95 % bootstrap intervals.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, perf_counter_ns, process_time_ns
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Block = Callable[[int], None]
"""Does this number of steps, and returns when they are complete, also on the device."""

_BLOCK_S = 0.1
_BLOCK_STEPS = 200
_FEWEST_PAIRS = 5
_DRAWS = 2_000


@dataclass(frozen=True, kw_only=True)
class Times:
    """The times of each pair in ns per step."""

    wall: Array
    """[pairs, 2]: the first way, the second."""
    processor: Array
    """[pairs, 2], over all threads; other programs on the machine affect it least."""
    block: int
    """Steps per block."""

    def median_ms(self, way: int) -> float:
        return float(np.median(self.wall[:, way])) / 1e6


def measure(first: Block, second: Block, *, seconds: float, seed: int = 0) -> Times:
    """Times of pairs of blocks for `seconds`, after a warm-up of both; at least 5 pairs."""
    steps = max(_steps_of_a_block(way) for way in (first, second))
    order = random.Random(seed)
    wall: list[tuple[int, int]] = []
    processor: list[tuple[int, int]] = []
    begin = perf_counter()
    while perf_counter() - begin < seconds or len(wall) < _FEWEST_PAIRS:
        taken: dict[int, tuple[int, int]] = {}
        for which in order.sample((0, 1), 2):
            taken[which] = _timed((first, second)[which], steps)
        wall.append((taken[0][0], taken[1][0]))
        processor.append((taken[0][1], taken[1][1]))
    return Times(wall=np.array(wall) / steps, processor=np.array(processor) / steps, block=steps)


def _timed(block: Block, steps: int) -> tuple[int, int]:
    processor, wall = process_time_ns(), perf_counter_ns()
    block(steps)
    return perf_counter_ns() - wall, process_time_ns() - processor


def _steps_of_a_block(block: Block) -> int:
    """Number of steps that take about 0.1 s; finding it is also the warm-up."""
    block(2)
    steps = 1
    while steps < _BLOCK_STEPS:
        wall, _ = _timed(block, steps)
        if wall > _BLOCK_S * 1e9 / 2:
            break
        steps *= 2
    return steps


def quotient(times: Array, seed: int = 0) -> tuple[float, float, float]:
    """Time of the first way over the second: the median over pairs, and its 95 % interval."""
    quotients = times[:, 0] / times[:, 1]
    rng = np.random.default_rng(seed)
    drawn = rng.choice(quotients, (_DRAWS, len(quotients)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return float(np.median(quotients)), float(low), float(high)


HEAD = f"{'':16} {'ours':>10} {'theirs':>10}  {'ratio':^21}  {'of processor time':^21}  pairs x steps"


def row(name: str, times: Times) -> str:
    """A row of the table below HEAD."""
    wall, processor = (
        "{:.3f} [{:.3f}, {:.3f}]".format(*quotient(taken)) for taken in (times.wall, times.processor)
    )
    return (
        f"{name:16} {times.median_ms(0):7.2f} ms {times.median_ms(1):7.2f} ms  {wall:21}  {processor:21}  "
        f"{len(times.wall)} x {times.block}"
    )
