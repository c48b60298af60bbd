from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps

WARMUP, STEPS = 2, 10


def fires(results: Path) -> None:
    """The first five measured steps take 8, 10 and 12 % longer than the others."""
    _session(results, excess=(0.08, 0.10, 0.12))


def quiet(results: Path) -> None:
    """The same 10 % in the mean, but once the other way round: they vary, and do not drift."""
    _session(results, excess=(0.30, 0.10, -0.10))


def _session(results: Path, *, excess: tuple[float, float, float]) -> None:
    folder = make_session(results, [Case(name="ddp", step_ms={1: 20.0}, warmup=WARMUP, steps=STEPS)])
    for repeat, more in enumerate(excess):
        times = np.full(WARMUP + STEPS, 20e6)
        times[WARMUP : WARMUP + STEPS // 2] *= 1 + more
        times = times.astype(np.int64)
        forward = times - 14_000_000  # what the other phases take
        starts = np.cumsum(times) - times
        columns = {"step_ns": times, "start_ns": starts, "forward_ns": forward}
        rewrite_steps(folder, f"ddp.1x1.r{repeat}", columns)
