"""`measure.memory_limit_bytes`: memory that a rank may allocate, counted from just before its model is built.

Exceeding it is an error in the rank. This holds on a CPU too, where the kernel would otherwise kill some process.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import resource
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from bench.measure.clock_cpu import status_bytes

if TYPE_CHECKING:
    import torch

_T = TypeVar("_T")

_M_MMAP_THRESHOLD = -3
"""glibc's malloc.h."""
_OWN_PAGES_BYTES = 128 * 2**10
"""glibc's default threshold, before it adapts."""
_THREADS_BYTES = 512 * 2**20
"""Allowed beyond the limit during the first step: stacks and heaps, mostly untouched, of threads that it starts."""
_MESSAGES = (
    "DefaultCPUAllocator",
    "CUDA error: out of memory",
    "HIP error: out of memory",
    "CUDA driver error: out of memory",
    "Triton Error [CUDA]: out of memory",
    "Cuda failure 2 'out of memory'",
    "CUSOLVER_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "cuda out of memory",
)
"""The CPU's allocator, CUDA's libraries and driver, Triton and NCCL have no exception type for lack of memory."""
_MESSAGES_UNDER_A_LIMIT = (
    "could not create a primitive",
    "failed to map segment",
    "cannot allocate memory",
    "resource temporarily unavailable",
)
"""Messages that mean lack of memory only under a limit: oneDNN, the linker, a new thread."""
_MESSAGES_ON_A_FULL_GPU = (
    "CUBLAS_STATUS_NOT_INITIALIZED",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "HIPBLAS_STATUS_NOT_INITIALIZED",
    "HIPBLAS_STATUS_ALLOC_FAILED",
    "unable to find an engine",
)
"""Messages that mean lack of memory only on a GPU that is nearly full: cuBLAS without a handle or workspace, and cuDNN.
A wrong driver or an unsupported shape has the same words."""
_FULL_SHARE = 0.9
"""Share of a GPU's memory in torch's allocator above which it is nearly full."""


class MemoryLimit:
    """Limits this process from now on; null sets no limit.

    On CUDA it limits torch's caching allocator, and does not count the memory of NCCL and of the CUDA context. On a CPU
    it is RLIMIT_DATA, which counts private writable memory, touched or not. During the first step, which loads
    libraries and starts threads, the limit is wider; from the second step on it is what is left."""

    def __init__(self, limit_bytes: int | None, device: torch.device) -> None:
        self.before_bytes = None if device.type == "cuda" else status_bytes()["RssAnon"]
        """Private resident memory of the process when the limit began; null on CUDA."""
        self._limit_bytes = limit_bytes
        if limit_bytes is None:
            return
        if device.type == "cuda":
            import torch

            total = torch.cuda.get_device_properties(device).total_memory
            torch.cuda.set_per_process_memory_fraction(min(1.0, limit_bytes / total), device)
        else:
            # Every tensor gets its own pages, and returns them when it is freed, at the cost of page faults. glibc
            # would keep pieces of up to 32 MiB; how many of them fit together again differs from run to run.
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _OWN_PAGES_BYTES)
            _allow_further(limit_bytes + _THREADS_BYTES)

    def tightened(self, batches: Iterator[_T], first: int) -> Iterator[_T]:
        """The same batches. The limit becomes strict after the first step, which takes `first` of them."""
        if self._limit_bytes is None or self.before_bytes is None:
            return batches
        return itertools.chain(itertools.islice(batches, first), self._tighten(), batches)

    def _tighten(self) -> Iterator[_T]:
        """Yields nothing. Raises MemoryError if the process already holds more than the limit: a second step that
        allocates nothing more would otherwise seem to fit."""
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
    """Remove the limit, so that a rank that exceeded it can still write its outcome."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def is_out_of_memory(error: BaseException, *, limited: bool, used_share: float = 0.0) -> bool:
    """Whether a rank raised the error for lack of memory. `limited`: the rank had a limit. `used_share`: the share of
    its GPU's memory that torch's allocator holds, a fraction."""
    import torch

    text = str(error).lower()
    if limited and any(message.lower() in text for message in _MESSAGES_UNDER_A_LIMIT):
        return True
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    messages = (*_MESSAGES, *_MESSAGES_ON_A_FULL_GPU) if used_share > _FULL_SHARE else _MESSAGES
    return isinstance(error, RuntimeError) and any(message.lower() in text for message in messages)


def used_share(device_index: int | None) -> float:
    """The share of a GPU's memory that torch's allocator holds, a fraction; 0 on a CPU and before CUDA is used."""
    import torch

    if device_index is None or not torch.cuda.is_initialized():
        return 0.0
    total_bytes = torch.cuda.get_device_properties(device_index).total_memory
    return torch.cuda.memory_reserved(device_index) / total_bytes


def _allow_further(further_bytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (status_bytes()["VmData"] + further_bytes, hard))
