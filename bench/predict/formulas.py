"""Time of one collective operation and what of it shows: the formulas of docs/methodology.md.

The database's macros of the same names say the same; tests/unit/analysis/test_formulas_agree.py holds them together.
"""

from __future__ import annotations

from math import log2
from typing import Literal

from bench.measure.bandwidth import bus_factor

Algorithm = Literal["ring", "tree"]


def latency_steps_of(op: str, n: int, algorithm: Algorithm) -> float | None:
    """Messages that wait for each other in one operation; null for what has no tree."""
    if algorithm == "ring":
        return 2 * (n - 1) if op == "all_reduce" else n - 1
    return {"all_reduce": 2 * log2(n), "broadcast": log2(n)}.get(op)


def communication_time_of(
    op: str,
    message_bytes: float,
    n: int,
    *,
    step_latency_s: float,
    bus_bytes_per_s: float,
    algorithm: Algorithm,
) -> float | None:
    """Seconds of one operation; null for what has no tree. A tree sends all of an all_reduce up and down again."""
    steps = latency_steps_of(op, n, algorithm)
    if steps is None:
        return None
    factor = 2 if algorithm == "tree" and op == "all_reduce" else bus_factor(op, n)
    return steps * step_latency_s + factor * message_bytes / bus_bytes_per_s


def exposed_time_of(communication: float, computation: float, pieces: float) -> float:
    """What computation does not hide of communication that comes in equal pieces, one after the other made ready at
    equal distances: the last piece at least, and what computation is too short for."""
    return max(communication / pieces, communication - computation * (1 - 1 / pieces))


def element_bytes_of(dtype: str | None) -> int:
    """Of a dtype or precision as it travels; tf32 rounds inside of multiplications only."""
    return 2 if dtype in ("bf16", "fp16") else 4
