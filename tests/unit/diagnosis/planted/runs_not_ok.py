from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """One of six runs failed and one took too long."""
    _session(results, {(2, 0): "failed", (2, 1): "timeout"})


def quiet(results: Path) -> None:
    """One is out of memory, which is a result, and one was skipped, as planned."""
    _session(results, {(2, 0): "oom", (2, 1): "skipped"})


def _session(results: Path, statuses: dict[tuple[int, int], str]) -> None:
    make_session(results, [Case(name="ddp", step_ms={1: 20.0, 2: 11.0}, statuses=statuses)])
