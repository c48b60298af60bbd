from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Other processes use a third of the CPUs."""
    make_session(results, [Case(name="ddp", step_ms={1: 200.0, 2: 110.0}, other_cpu_pct=33.0)])


def quiet(results: Path) -> None:
    """They use a twentieth."""
    make_session(results, [Case(name="ddp", step_ms={1: 200.0, 2: 110.0}, other_cpu_pct=5.0)])
