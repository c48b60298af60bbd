from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps


def fires(results: Path) -> None:
    """Rank 2 of 4 takes 12, 15 and 18 ms longer in forward, in steps of 100 ms; the others wait in backward."""
    slow_down(_session(results), slow_rank=(2, 2, 2))


def quiet(results: Path) -> None:
    """One rank of each repeat does, but never the same."""
    slow_down(_session(results), slow_rank=(0, 1, 2))


def _session(results: Path) -> Path:
    return make_session(results, [Case(name="ddp", step_ms={4: 100.0})])


def slow_down(folder: Path, *, slow_rank: tuple[int, int, int]) -> None:
    """`slow_rank`: the rank of each repeat."""
    for repeat, (rank, more_ms) in enumerate(zip(slow_rank, (12, 15, 18), strict=True)):
        more = np.zeros((4, 1), dtype=np.int64)
        more[rank] = more_ms * 1_000_000
        columns = {"forward_ns": 30_000_000 + more, "backward_ns": 50_000_000 - more}
        rewrite_steps(folder, f"ddp.1x4.r{repeat}", columns)
