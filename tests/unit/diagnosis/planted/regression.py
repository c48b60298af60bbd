from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.factory import BEGAN, Case, make_session


def fires(results: Path) -> None:
    """On the last day, with another torch, a step takes a fifth longer, beyond what repeats and days vary."""
    _days(results, [12.0, 12.1, 12.2])


def quiet(results: Path) -> None:
    """Its mean is as much longer, but its repeats vary so much that it may as well be shorter."""
    _days(results, [8.0, 11.0, 15.0])


def _days(results: Path, step_ms: list[float]) -> None:
    for day in range(7):
        torch, repeats = ("2.16.0", step_ms) if day == 6 else ("2.15.0", [10.0, 10.1, 10.2])
        make_session(
            results,
            [Case(name="ddp", step_ms={2: repeats})],
            session_id=f"day{day}",
            created_at=BEGAN + timedelta(days=day),
            environment={"0": {"torch": torch}},
        )
