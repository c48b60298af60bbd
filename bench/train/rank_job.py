"""The job that an agent gives a rank, and the files in which the rank answers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.records.run_spec import RunSpec

NO_OUTCOME = os.EX_IOERR
"""Exit code of a rank that could not write its outcome."""
NO_PROGRAM = os.EX_UNAVAILABLE
"""Exit code of a rank whose command could not be started."""


@dataclass(frozen=True, kw_only=True)
class RankJob:
    """One rank's job, sent as JSON."""

    spec: dict[str, Any]
    """RunSpec as JSON."""
    rank: int
    local_rank: int
    """Index of the rank on its node."""
    node: int
    local_task: int
    """Index, among its node's agents, of the one that hosts the rank."""
    cpus: list[int]
    """CPUs this rank may use; the same at every world size."""
    device_index: int | None
    """CUDA device; null on CPU."""
    cuda_visible_devices: str | None
    """CUDA_VISIBLE_DEVICES if the GPU needs its name; null: the agent's."""
    shares_gpus: bool
    """Whether ranks of the run share a GPU, or are on slices of one: then NCCL cannot connect them."""
    rendezvous: str
    """URL at which the ranks meet: see bench/train/process_group.py."""
    interface: str | None
    """Network interface on which gloo and NCCL meet; if null, they choose."""
    scratch: str
    """Node-local folder of this run, for recorder files and outcomes."""
    log: str
    """File for stdout and stderr of the rank."""
    server_pid: int
    """The process that forks this rank; the rank dies with it."""
    variables_of_bench: list[str]
    """Environment variables that bench has set for itself; a user's command does not get them."""

    def identity(self, spec: RunSpec) -> dict[str, Any]:
        """Whose rows a step file has."""
        return {
            "session_id": spec.session_id,
            "run_id": spec.run_id,
            "attempt": spec.attempt,
            "rank": self.rank,
            "node": self.node,
            "local_task": self.local_task,
        }

    def step_file(self) -> Path:
        return step_file(Path(self.scratch), self.rank)

    def outcome_file(self) -> Path:
        return outcome_file(Path(self.scratch), self.rank)


def step_file(scratch: Path, rank: int) -> Path:
    return scratch / f"steps.rank{rank}.raw"


def outcome_file(scratch: Path, rank: int) -> Path:
    return scratch / f"outcome.rank{rank}.json"
