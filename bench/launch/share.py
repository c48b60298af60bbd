"""What a rank may take of its node's memory, so that the kernel never has to end one for want of it."""

from __future__ import annotations

import psutil

from bench import cgroup
from bench.records.run_spec import RunSpec

_USED = 0.8
"""Of what is available now; the rest is for the agent, the page cache and everyone else."""
_LEAST_BYTES = 64 * 2**20


def share_bytes(run: RunSpec) -> int:
    """Of a rank of this run, on a node with as much memory as this one; its control groups count."""
    left = cgroup.memory_left_bytes()
    available: int = psutil.virtual_memory().available
    if left is not None:
        available = min(available, left)
    return max(_LEAST_BYTES, int(_USED * available / run.ranks_per_node))
