from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps

STEPS = 42
GB = 10**9
GPU = {"0": {f"gpu{number}_memory_bytes": str(80 * GB) for number in (0, 1)}}


def fires(results: Path) -> None:
    """One of two ranks takes 10 MB more in each step."""
    _session(results, GB + 10_000_000 * np.arange(STEPS))


def quiet(results: Path) -> None:
    """It takes the same amount in two jumps, one in each half of the steps, as an allocator's cache does."""
    jumps = (np.arange(STEPS) >= 12).astype(int) + (np.arange(STEPS) >= 27)
    _session(results, GB + 10_000_000 * STEPS // 2 * jumps)


def _session(results: Path, rank_1: np.ndarray) -> None:
    case = Case(
        name="ddp",
        step_ms={2: 50.0},
        warmup=2,
        steps=STEPS - 2,
        device_type="cuda",
        measure={"garbage_collection": "off"},
    )
    folder = make_session(results, [case], environment=GPU)
    for repeat in range(case.repeats):
        allocated = np.vstack([np.full(STEPS, GB), rank_1]).astype(np.int64)
        rewrite_steps(folder, f"ddp.1x2.r{repeat}", {"memory_allocated_bytes": allocated})
