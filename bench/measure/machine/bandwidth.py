"""Collective operations and their bandwidths in GB/s (10^9 bytes), as defined in nccl-tests' doc/PERFORMANCE.md.

Imports and predictions use these definitions, too, so this module imports nothing heavy.
"""

from __future__ import annotations

from typing import Literal, get_args

Op = Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast"]
OPS: tuple[Op, ...] = get_args(Op)


def algorithm_gbps(message_bytes: int, time_ns: float) -> float:
    """Algorithm bandwidth in GB/s: size over time. The size is all_gather's output or reduce_scatter's input."""
    return message_bytes / time_ns


def bus_factor(op: str, world_size: int) -> float:
    """Bus bandwidth ÷ algorithm bandwidth. For one rank it is 0 if the operation then needs no link.

    The bus bandwidth is the load of the slowest link with the best possible algorithm. It can be compared with the
    hardware's bandwidth for any operation and number of ranks."""
    others = (world_size - 1) / world_size
    return {"all_reduce": 2 * others, "all_gather": others, "reduce_scatter": others, "broadcast": 1.0}[op]
