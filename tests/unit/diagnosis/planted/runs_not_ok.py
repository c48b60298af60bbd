from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

STEP_MS = {1: 20.0, 2: 11.0}


def fires(results: Path) -> None:
    """One of six runs failed; in another case a run took too long."""
    failed = Case(name="fsdp", step_ms=STEP_MS, statuses={(2, 0): "failed"})
    slow = Case(name="ddp", step_ms=STEP_MS, statuses={(2, 1): "timeout"})
    make_session(results, [failed, slow])


def quiet(results: Path) -> None:
    """One is out of memory, which is a result, and one was skipped, as planned."""
    make_session(results, [Case(name="ddp", step_ms=STEP_MS, statuses={(2, 0): "oom", (2, 1): "skipped"})])
