from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Single steps vary by 12 % in each of three repeats."""
    _session(results, jitter=0.12)


def quiet(results: Path) -> None:
    """They vary by 4 %, and the repeats hardly differ."""
    _session(results, jitter=0.04)


def _session(results: Path, *, jitter: float) -> None:
    make_session(results, [Case(name="ddp", step_ms={1: 20.0, 2: 11.0}, steps=100, jitter=jitter)])
