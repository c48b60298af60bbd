"""`measure.memory_limit_bytes`: what a rank may allocate from the moment before its model is built.

What does not fit is then an error in the rank, on a CPU too, where the kernel would else end some process or other.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import resource
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from bench.measure.process_memory import status_bytes

if TYPE_CHECKING:
    import torch

_T = TypeVar("_T")

_M_MMAP_THRESHOLD = -3
"""glibc's malloc.h."""
_OWN_PAGES_BYTES = 128 * 2**10
"""glibc's own threshold before it adapts."""
_THREADS_BYTES = 512 * 2**20
"""Beyond the limit during the first step: stacks and heaps of threads that are started by then, hardly touched."""
_WORDS = (
    "DefaultCPUAllocator",
    "CUDA error: out of memory",
    "CUDA driver error: out of memory",
    "Triton Error [CUDA]: out of memory",
    "Cuda failure 2 'out of memory'",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUSOLVER_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "cuda out of memory",
)
"""Neither the CPU's allocator nor CUDA's libraries, Triton, NCCL and the driver have an exception of their own."""
_WORDS_UNDER_A_LIMIT = (
    "could not create a primitive",
    "failed to map segment",
    "cannot allocate memory",
    "resource temporarily unavailable",
)
"""How a library without words for it says that it got no memory: oneDNN, the linker, a new thread."""


class MemoryLimit:
    """Of this process, from now on; null sets none. On CUDA it holds for torch's caching allocator alone.

    On a CPU it is RLIMIT_DATA, which counts private memory that can be written whether it is touched or not. During the
    first step it is wide, for libraries and threads that come with it; from the second on it is what is left."""

    def __init__(self, limit_bytes: int | None, device: torch.device) -> None:
        self.before_bytes = None if device.type == "cuda" else status_bytes()["RssAnon"]
        """Private resident memory of the process when the limit began; null on CUDA."""
        self._limit_bytes = limit_bytes
        if limit_bytes is None:
            return
        if device.type == "cuda":
            _limit_allocator(limit_bytes, device)
        else:
            _give_back_at_once()
            _allow_further(limit_bytes + _THREADS_BYTES)

    def tightened(self, batches: Iterator[_T], first: int) -> Iterator[_T]:
        """The batches; the limit is at its full strictness after the first step, which takes `first` of them."""
        if self._limit_bytes is None or self.before_bytes is None:
            return batches
        return itertools.chain(itertools.islice(batches, first), self._tighten(), batches)

    def _tighten(self) -> Iterator[_T]:
        """No further batch. Raises MemoryError where more than the limit is held by then: a second step that makes do
        with it would look as if it fitted."""
        assert self._limit_bytes is not None
        assert self.before_bytes is not None
        used_bytes = status_bytes()["RssAnon"] - self.before_bytes
        if used_bytes > self._limit_bytes:
            raise MemoryError(
                f"{used_bytes / 2**20:.2f} MiB are in use after the first step, "
                f"measure.memory_limit_bytes is {self._limit_bytes / 2**20:.2f} MiB"
            )
        _allow_further(self._limit_bytes - used_bytes)
        yield from ()


def lift() -> None:
    """Take the limit back, so that a rank that ran into it can still say so."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def is_out_of_memory(error: BaseException, *, limited: bool) -> bool:
    """Whether a rank raised it for want of memory. `limited`: it had a limit."""
    import torch

    if limited and _says(error, *_WORDS_UNDER_A_LIMIT):
        return True
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, RuntimeError) and _says(error, *_WORDS)


def _says(error: BaseException, *words: str) -> bool:
    said = str(error).lower()
    return any(word.lower() in said for word in words)


def _give_back_at_once() -> None:
    """Every tensor gets pages of its own, and returns them when it is freed. glibc would keep pieces of up to 32 MiB
    for later, and how many of them fit together again differs from run to run. It costs page faults."""
    ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _OWN_PAGES_BYTES)


def _allow_further(further_bytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (status_bytes()["VmData"] + further_bytes, hard))


def _limit_allocator(limit_bytes: int, device: torch.device) -> None:
    """What NCCL and the CUDA context take beside it is not counted."""
    import torch

    total = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, limit_bytes / total), device)
