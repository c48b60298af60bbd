from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """A rank has no rows, and the run says why."""
    make_session(results, [Case(name="ddp", step_ms={2: 11.0}, outcome={"profile_problem": "no kernels"})])


def quiet(results: Path) -> None:
    """Nothing was profiled."""
    make_session(results, [Case(name="ddp", step_ms={2: 11.0})])
