"""The argument of a workload that measures the machine: where it runs, how often, and where its rows go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

    from bench.records.run_spec import Precision

Rows = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One rank of a run that has joined its process group."""

    device: torch.device
    rank: int
    world_size: int
    ranks_per_node: int
    """Ranks that share a node's memory."""
    precision: Precision
    warmup: int
    """Warm-up iterations of each operation, which are not kept."""
    iterations: int
    """Iterations of each operation that are kept."""
    barrier: Callable[[], None]
    """Returns once all ranks are here and their devices idle."""
    keep: Callable[[str, Rows], None]
    """Stores rows of a table of bench/measure/rank_tables.py."""
