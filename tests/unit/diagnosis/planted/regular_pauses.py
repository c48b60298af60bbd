from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps

STEPS = 40


def fires(results: Path) -> None:
    """Every tenth step of 10 ms begins 90 ms after the one before it ended."""
    _session(results, [9, 19, 29, 39])


def quiet(results: Path) -> None:
    """As many steps do, but at no regular interval."""
    _session(results, [3, 11, 14, 33])


def _session(results: Path, pausing: list[int]) -> None:
    """`pausing`: the measured steps before which there is a pause."""
    folder = make_session(results, [Case(name="ddp", step_ms={1: 20.0, 2: 10.0}, warmup=2, steps=STEPS)])
    before = np.zeros(2 + STEPS)
    before[[2 + step for step in pausing]] = 90.0
    start_ms = 10.0 * np.arange(2 + STEPS) + np.cumsum(before)
    for repeat in range(3):
        rewrite_steps(folder, f"ddp.1x2.r{repeat}", {"start_ns": (1e6 * start_ms).astype(np.int64)})
