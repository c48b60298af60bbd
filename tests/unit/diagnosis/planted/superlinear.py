from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Two ranks are 2.2 times as fast as one. Single runs of another case show 110 % of efficiency."""
    once = Case(name="once", step_ms={1: 100.0, 2: 45.45}, repeats=1)
    make_session(results, [_case([45.0, 45.4, 45.9]), once])


def quiet(results: Path) -> None:
    """As fast, but the interval of the efficiency begins at 103 %."""
    make_session(results, [_case([44.0, 45.4, 47.0])])


def _case(two_ms: list[float]) -> Case:
    return Case(name="ddp", step_ms={1: [99.8, 100.0, 100.2], 2: two_ms})
