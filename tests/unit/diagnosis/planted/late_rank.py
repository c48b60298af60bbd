from __future__ import annotations

from pathlib import Path

from bench.records.run_spec import RunSpec
from tests.factory import Case, make_session
from tests.profile_rows import Figures, add_profile


def fires(results: Path) -> None:
    """The last rank sleeps in backward for 40 of 100 ms: it computes as long as the others, which wait for it."""
    _session(results, [0.0, 0.0, 0.0, 40.0])


def quiet(results: Path) -> None:
    """All ranks communicate for as long, but one has 3 ms less of it."""
    _session(results, [37.0, 37.0, 37.0, 40.0])


def _session(results: Path, late_ms: list[float]) -> None:
    def figures(spec: RunSpec, rank: int) -> Figures:
        waited = 45.0 - late_ms[rank] + 0.1 * spec.repeat
        return (100, waited, waited, 50)

    add_profile(make_session(results, [Case(name="ddp", step_ms={4: 100.0})]), figures, {})
