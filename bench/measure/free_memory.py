"""How much memory a rank may take, asked before it does: a kernel that runs out ends some process or other."""

from __future__ import annotations

import torch

from bench import cgroup
from bench.measure.machine import Machine


def refuse_more_than_is_free(needed_bytes: int, machine: Machine, remedy: str) -> None:
    """Raises MemoryError, with the numbers and the remedy, where a rank's share of what is free is less. Returns once
    all ranks have asked: none takes of what another still counts."""
    share = _free_bytes(machine.device) // (1 if machine.device.type == "cuda" else machine.ranks_per_node)
    if needed_bytes > share:
        raise MemoryError(
            f"a rank needs {needed_bytes / 2**20:,.0f} MiB, and {share / 2**20:,.0f} MiB are free for each: {remedy}"
        )
    machine.barrier()


def _free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        free: int = torch.cuda.mem_get_info(device)[0]
        return free
    import psutil

    available: int = psutil.virtual_memory().available
    left = cgroup.memory_left_bytes()
    return available if left is None else min(available, left)
