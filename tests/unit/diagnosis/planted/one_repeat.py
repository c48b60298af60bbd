from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Two sizes, each run once."""
    _session(results, repeats=1)


def quiet(results: Path) -> None:
    """Each was run twice; one failed, so that one of them has no interval either."""
    _session(results, repeats=2)


def _session(results: Path, *, repeats: int) -> None:
    case = Case(name="ddp", step_ms={1: 20.0, 2: 11.0}, repeats=repeats, statuses={(2, 1): "failed"})
    make_session(results, [case])
