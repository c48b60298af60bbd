"""Bandwidths of collective operations as nccl-tests defines them (its doc/PERFORMANCE.md), in 10^9 bytes per second.

The bus bandwidth is what the slowest link carries in the best algorithm there is, so that it can be held against the
hardware's whatever the operation and the number of ranks.
"""

from __future__ import annotations

from typing import Literal, get_args

Op = Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast"]
OPS: tuple[Op, ...] = get_args(Op)


def algorithm_gbps(message_bytes: int, time_ns: float) -> float:
    """Size over time. The size of all_gather is that of its output, of reduce_scatter that of its input."""
    return message_bytes / time_ns


def bus_factor(op: str, world_size: int) -> float:
    """Bus bandwidth ÷ algorithm bandwidth. One rank sends nothing: 0 where the algorithm needs no link then."""
    others = (world_size - 1) / world_size
    return {"all_reduce": 2 * others, "all_gather": others, "reduce_scatter": others, "broadcast": 1.0}[op]
