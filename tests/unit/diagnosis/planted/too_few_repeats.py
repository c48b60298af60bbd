from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Efficiency 0.80 in the mean, between 0.75 and 0.85: acceptable to good."""
    _session(results, efficiencies=(0.77, 0.80, 0.83))


def quiet(results: Path) -> None:
    """The repeats differ as much around 0.749, on the border itself: a hundred of them would not decide it."""
    _session(results, efficiencies=(0.719, 0.749, 0.779))


def _session(results: Path, *, efficiencies: tuple[float, float, float]) -> None:
    step_ms = {1: 20.0, 2: [10.0 / efficiency for efficiency in efficiencies]}
    make_session(results, [Case(name="ddp", step_ms=step_ms)])
