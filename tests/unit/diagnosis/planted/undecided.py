from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Efficiency 0.79 in the mean, but between 0.5 and 1.25 in three repeats. Another case has only two repeats, which
    give no interval however alike they are."""
    _session(
        results,
        Case(name="wide", step_ms={1: 20.0, 2: [20.0, 12.5, 8.0]}),
        Case(name="two", step_ms={1: 20.0, 2: [12.5, 12.6]}, repeats=2),
    )


def quiet(results: Path) -> None:
    """The interval of three repeats spans two verdicts, acceptable and good. A single repeat is one_repeat."""
    _session(
        results,
        Case(name="wide", step_ms={1: 20.0, 2: [13.0, 12.5, 12.0]}),
        Case(name="one", step_ms={1: 20.0, 2: 12.5}, repeats=1),
    )


def _session(results: Path, *cases: Case) -> None:
    make_session(results, list(cases))
