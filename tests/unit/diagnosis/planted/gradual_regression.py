from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from tests.factory import BEGAN, Case, make_session


def fires(results: Path) -> None:
    """Each day a step takes 1.5 % longer than the day before, which is no regression."""
    _days(results, [1.015**day for day in range(7)])


def quiet(results: Path) -> None:
    """Days differ as much, up and down."""
    _days(results, [1.0, 1.015, 1.0, 1.015, 1.03, 1.015, 1.03])


def _days(results: Path, factors: Sequence[float]) -> None:
    for day, factor in enumerate(factors):
        make_session(
            results,
            [Case(name="ddp", step_ms={2: [10.0 * factor, 10.05 * factor, 10.1 * factor]})],
            session_id=f"day{day}",
            created_at=BEGAN + timedelta(days=day),
        )
