from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Three repeats at which 2 ranks take longer for the same batch than one does."""
    slower = {1: [10.0, 10.1, 10.2], 2: [15.0, 15.1, 15.2]}
    make_session(results, [Case(name="small", step_ms=slower)])


def quiet(results: Path) -> None:
    """The points are as much slower, but the repeats vary so much that they may as well be faster."""
    noisy = {1: [10.0, 10.1, 10.2], 2: [7.0, 12.0, 20.0]}
    make_session(results, [Case(name="small", step_ms=noisy)])
