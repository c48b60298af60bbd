"""What the agent gives a rank, and how the rank gives back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNSAID = os.EX_IOERR
"""Exit code of a rank that could not write down how it went."""


@dataclass(frozen=True, kw_only=True)
class RankJob:
    """What the agent gives a rank, as JSON."""

    spec: dict[str, Any]
    """RunSpec as JSON."""
    rank: int
    local_rank: int
    node: int
    local_task: int
    """Which of its node's agents hosts it."""
    cores: list[int]
    """CPUs this rank may use; the same at every world size."""
    device_index: int | None
    """CUDA device; null on CPU."""
    rendezvous: str
    """What the ranks meet by: see bench/train/group.py."""
    interface: str | None
    """Network interface for gloo; null leaves the choice to it."""
    scratch: str
    """Node-local folder of this run: recorder files and outcomes."""
    log: str
    """File for everything the rank prints."""
    server_pid: int
    """The process this rank is forked from, and dies with."""

    def step_file(self) -> Path:
        return step_file(Path(self.scratch), self.rank)

    def outcome_file(self) -> Path:
        return outcome_file(Path(self.scratch), self.rank)


def step_file(scratch: Path, rank: int) -> Path:
    return scratch / f"steps.rank{rank}.raw"


def outcome_file(scratch: Path, rank: int) -> Path:
    return scratch / f"outcome.rank{rank}.json"
