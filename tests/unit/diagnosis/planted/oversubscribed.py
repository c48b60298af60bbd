from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """4 ranks on fewer slots."""
    _session(results, oversubscribed=frozenset({4}))


def quiet(results: Path) -> None:
    """4 ranks on 4 slots."""
    _session(results, oversubscribed=frozenset())


def _session(results: Path, *, oversubscribed: frozenset[int]) -> None:
    make_session(results, [Case(name="ddp", step_ms={2: 10.0, 4: 9.0}, oversubscribed=oversubscribed)])
