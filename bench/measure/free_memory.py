"""How much memory a rank may take, asked before it does: a kernel that runs out ends some process or other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_CGROUP = Path("/sys/fs/cgroup")


def refuse_more_than_is_free(
    needed_bytes: int, ranks_per_node: int, device: torch.device, remedy: str
) -> None:
    """Raises MemoryError, with the numbers and the remedy, where a rank's share of what is free is less."""
    share = _free_bytes(device) // (1 if device.type == "cuda" else ranks_per_node)
    if needed_bytes > share:
        raise MemoryError(
            f"a rank needs {needed_bytes / 2**20:,.0f} MiB, and {share / 2**20:,.0f} MiB are free for each: {remedy}"
        )


def _free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        import torch

        free: int = torch.cuda.mem_get_info(device)[0]
        return free
    import psutil

    limits = [psutil.virtual_memory().available, _left_in_cgroup()]
    return min(limit for limit in limits if limit is not None)


def _left_in_cgroup() -> int | None:
    """Of a container's or a job's limit (cgroup v2, as it looks from inside); null where there is none."""
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return None
    return None if limit == "max" else max(0, int(limit) - int(used))
