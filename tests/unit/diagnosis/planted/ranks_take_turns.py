from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps

STEPS = 12


def fires(results: Path) -> None:
    """In every step of 100 ms another of four ranks takes 20 ms longer in forward; the others wait in backward."""
    _session(results, lambda step: step % 4)


def quiet(results: Path) -> None:
    """The third rank does, in every step."""
    _session(results, lambda _step: 2)


def _session(results: Path, slow_rank: Callable[[int], int]) -> None:
    folder = make_session(results, [Case(name="ddp", step_ms={4: 100.0}, warmup=2, steps=STEPS - 2)])
    more = np.zeros((4, STEPS))
    for step in range(STEPS):
        more[slow_rank(step), step] = 20.0
    for repeat in range(3):
        columns = {"forward_ns": 30 + more, "backward_ns": 50 - more}
        rewrite_steps(
            folder, f"ddp.1x4.r{repeat}", {name: (1e6 * ms).astype(np.int64) for name, ms in columns.items()}
        )
