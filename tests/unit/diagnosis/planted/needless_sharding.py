from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

GB = 10**9
GPU = {"0": {f"gpu{number}_memory_bytes": str(80 * GB) for number in (0, 1)}}
SLOWER = {2: [14.0, 14.1, 14.2]}


def fires(results: Path) -> None:
    """FSDP takes 40 % longer than DDP, under which 70 of 80 GB are free."""
    _session(results, SLOWER, ddp_bytes=8 * GB)


def quiet(results: Path) -> None:
    """It takes as much longer, but DDP leaves hardly anything free."""
    _session(results, SLOWER, ddp_bytes=56 * GB)  # and its allocator 70


def _session(results: Path, fsdp_ms: dict[int, list[float]], ddp_bytes: int) -> None:
    cases = [
        Case(name="ddp", step_ms={2: [10.0, 10.1, 10.2]}, device_type="cuda", memory_bytes=ddp_bytes),
        Case(name="fsdp", strategy="fsdp", step_ms=fsdp_ms, device_type="cuda", memory_bytes=4 * GB),
    ]
    make_session(results, cases, environment=GPU)
