"""Checks free memory before a rank allocates it; without memory the kernel would kill some process."""

from __future__ import annotations

import torch

from bench.machine import cgroup
from bench.measure.machine.speed import Machine


def refuse_more_than_is_free(needed_bytes: int, machine: Machine, remedy: str) -> None:
    """Raises MemoryError, with the numbers and the remedy, if a rank's share of free memory is too small. Returns once
    all ranks have checked, so that no rank allocates memory that another still counts as free."""
    if machine.device.type == "cuda":
        share: int = torch.cuda.mem_get_info(machine.device)[0]
    else:
        import psutil

        available: int = psutil.virtual_memory().available
        left = cgroup.memory_left_bytes()
        share = (available if left is None else min(available, left)) // machine.ranks_per_node
    if needed_bytes > share:
        raise MemoryError(
            f"a rank needs {needed_bytes / 2**20:,.0f} MiB, and {share / 2**20:,.0f} MiB are free for each: {remedy}"
        )
    machine.barrier()
