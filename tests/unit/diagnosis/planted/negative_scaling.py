from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps


def fires(results: Path) -> None:
    """Three repeats at which 2 ranks take longer for the same batch than one does, also if they train differently."""
    slower = {1: [10.0, 10.1, 10.2], 2: [15.0, 15.1, 15.2]}
    folder = make_session(results, [Case(name="small", step_ms=slower), Case(name="drifts", step_ms=slower)])
    for repeat in range(3):
        rewrite_steps(folder, f"drifts.1x2.r{repeat}", {"loss": np.linspace(2.5, 0.5, 12)})


def quiet(results: Path) -> None:
    """The points are as much slower, but the repeats vary so much that they may as well be faster."""
    noisy = {1: [10.0, 10.1, 10.2], 2: [7.0, 12.0, 20.0]}
    make_session(results, [Case(name="small", step_ms=noisy)])
