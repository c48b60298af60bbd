"""`measure.memory_limit_bytes`: what a rank may allocate from the moment before its model is built.

What does not fit is then an error in the rank, on a CPU too, where the kernel would else end some process or other.
"""

from __future__ import annotations

import re
import resource
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def set_limit(limit_bytes: int | None, device: torch.device) -> int | None:
    """Of this process, from now on; null sets none. Returns its private resident memory; null on CUDA."""
    if device.type == "cuda":
        if limit_bytes is not None:
            _limit_allocator(limit_bytes, device)
        return None
    if limit_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (_status_bytes("VmData") + limit_bytes, hard))
    return _status_bytes("RssAnon")


def lift() -> None:
    """Take the limit back, so that a rank that ran into it can still say so."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def may_have_caused(error: BaseException) -> bool:
    """Whether it is how a library without words for it says that it got no memory: oneDNN, and the linker."""
    words = ("could not create a primitive", "failed to map segment", "cannot allocate memory")
    return any(word in str(error).lower() for word in words)


def peak_private_bytes() -> int:
    """Of this process, since it began: the kernel knows the peak of the resident set, of which pages of files, which no
    limit counts, come to stay."""
    return _status_bytes("VmHWM") - _status_bytes("RssFile") - _status_bytes("RssShmem")


def _limit_allocator(limit_bytes: int, device: torch.device) -> None:
    """torch's caching allocator: what NCCL and the CUDA context take beside it is not counted."""
    import torch

    total = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, limit_bytes / total), device)


def _status_bytes(name: str) -> int:
    """RLIMIT_DATA counts what VmData does: private memory that can be written, touched or not."""
    match = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert match, f"the kernel says {name} of every process"
    return 1024 * int(match[1])
