from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

GB = 10**9
GPU = {"0": {f"gpu{number}_memory_bytes": str(80 * GB) for number in (0, 1)}}
HARDLY_FASTER = {1: [10.0, 10.1, 10.2], 2: [9.0, 9.1, 9.2]}


def fires(results: Path) -> None:
    """Half the examples take almost as long, and the allocator holds 10 of 80 GB."""
    _session(results, memory_bytes=8 * GB)


def quiet(results: Path) -> None:
    """They take as long, and it holds 35 of 80 GB: twice the batch may not fit."""
    _session(results, memory_bytes=28 * GB)


def _session(results: Path, memory_bytes: int) -> None:
    case = Case(name="ddp", step_ms=HARDLY_FASTER, device_type="cuda", memory_bytes=memory_bytes)
    make_session(results, [case], environment=GPU)
