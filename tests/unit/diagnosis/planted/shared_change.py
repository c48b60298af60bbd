from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from tests.factory import BEGAN, Case, make_session


def fires(results: Path) -> None:
    """In the last session a step of every case takes 10 % longer."""
    _days(results, [1.1] * 8)


def quiet(results: Path) -> None:
    """Only a few cases take longer."""
    _days(results, [*[1.1] * 3, *[1.0] * 5])


def _days(results: Path, last: Sequence[float]) -> None:
    for day, factors in enumerate([*[[1.0] * len(last)] * 6, last]):
        cases = [
            Case(name=f"case{number}", step_ms={1: [factor * ms for ms in (10.0, 10.05, 10.1)]})
            for number, factor in enumerate(factors)
        ]
        make_session(results, cases, session_id=f"day{day}", created_at=BEGAN + timedelta(days=day))
