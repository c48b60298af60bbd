from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Efficiency 0.79 in the mean, but between 0.5 and 1.25 in three repeats. Another case has two repeats at 0.83
    and 1.1."""
    _session(results, wide=[20.0, 12.5, 8.0], two=[12.0, 9.0])


def quiet(results: Path) -> None:
    """Both intervals span two verdicts, acceptable and good."""
    _session(results, wide=[13.0, 12.5, 12.0], two=[12.5, 12.6])


def _session(results: Path, *, wide: list[float], two: list[float]) -> None:
    cases = [
        Case(name="wide", step_ms={1: 20.0, 2: wide}),
        Case(name="two", step_ms={1: 20.0, 2: two}, repeats=2),
    ]
    make_session(results, cases)
