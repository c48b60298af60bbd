from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """12 GB are in use before the ranks come."""
    _session(results, found_bytes=12_000_000_000)


def quiet(results: Path) -> None:
    """A driver holds a little memory, and later the ranks hold 40 GB themselves."""
    _session(results, found_bytes=700_000_000)


def _session(results: Path, *, found_bytes: int) -> None:
    case = Case(
        name="ddp",
        step_ms={1: 20.0, 2: 11.0},
        device_type="cuda",
        memory_bytes=40_000_000_000,
        found_bytes=found_bytes,
    )
    make_session(results, [case])
