from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps


def fires(results: Path) -> None:
    """All four ranks of the second node take about 10 ms longer in forward, in steps of 100 ms."""
    _session(results, slow_ranks=slice(None))


def quiet(results: Path) -> None:
    """All but one of them do: these are slow ranks, and their node as a whole is not slow."""
    _session(results, slow_ranks=slice(3))


def _session(results: Path, *, slow_ranks: slice) -> None:
    folder = make_session(results, [Case(name="ddp", step_ms={8: 100.0}, ranks_per_node=4)])
    for repeat, more_ms in enumerate((9, 10, 11)):
        more = np.zeros((4, 1), dtype=np.int64)
        more[slow_ranks] = more_ms * 1_000_000
        columns = {"forward_ns": 30_000_000 + more, "backward_ns": 50_000_000 - more}
        rewrite_steps(folder, f"ddp.2x4.r{repeat}", columns, node=1)
