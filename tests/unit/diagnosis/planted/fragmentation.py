from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

GB = 10**9
GPU = {"0": {f"gpu{number}_memory_bytes": str(80 * GB) for number in (0, 1)}}
ERROR = (
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. Of the allocated memory 60.00 GiB is allocated "
    "by PyTorch, and {} GiB is reserved by PyTorch but unallocated."
)


def fires(results: Path) -> None:
    """The allocator holds 75 of 80 GB for 60 in use; and torch says that a failed run kept 12 GiB unused."""
    _session(results, memory_bytes=60 * GB, kept_gib=12.0)


def quiet(results: Path) -> None:
    """It leaves as large a share unused on a GPU that is half empty; and the failed run needed all it held."""
    _session(results, memory_bytes=32 * GB, kept_gib=1.5)


def _session(results: Path, memory_bytes: int, kept_gib: float) -> None:
    ended = Case(
        name="ended",
        step_ms={2: 10.0},
        device_type="cuda",
        statuses={(2, repeat): "oom" for repeat in range(3)},
        outcome={"error": ERROR.format(kept_gib)},
    )
    full = Case(name="full", step_ms={2: 10.0}, device_type="cuda", memory_bytes=memory_bytes)
    make_session(results, [full, ended], environment=GPU)
