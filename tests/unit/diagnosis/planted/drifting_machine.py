from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

REST = ((0.1, -0.1, 0.0), (-0.1, 0.0, 0.1), (0.0, 0.1, -0.1))
"""Percent by which the runs of three sizes differ in each of three rounds."""


def fires(results: Path) -> None:
    """Every size takes 4 % longer in the second round and 8 % longer in the third."""
    _session(results, rounds=(0.0, 4.0, 8.0))


def quiet(results: Path) -> None:
    """The rounds are as different for one size alone, which is noise and no drift."""
    _session(results, rounds=(0.0, 4.0, 8.0), sizes=(1,))


def _session(results: Path, *, rounds: tuple[float, ...], sizes: tuple[int, ...] = (1, 2, 4)) -> None:
    step_ms = {
        n: [
            20.0 / n * (1 + (more * (n in sizes) + rest) / 100)
            for more, rest in zip(rounds, REST[place], strict=True)
        ]
        for place, n in enumerate((1, 2, 4))
    }
    make_session(results, [Case(name="ddp", step_ms=step_ms)])
