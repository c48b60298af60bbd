from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Efficiency 0.80 in the mean, with an interval from 0.73 to 0.88: acceptable or good."""
    _session(results, efficiencies=(0.77, 0.80, 0.83))


def quiet(results: Path) -> None:
    """The repeats differ less around 0.825: the whole interval is good."""
    _session(results, efficiencies=(0.805, 0.825, 0.845))


def _session(results: Path, *, efficiencies: tuple[float, float, float]) -> None:
    step_ms = {1: 20.0, 2: [10.0 / efficiency for efficiency in efficiencies]}
    make_session(results, [Case(name="ddp", step_ms=step_ms)])
