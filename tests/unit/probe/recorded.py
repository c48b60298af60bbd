"""A script that ran under the probe, and what was recorded of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure.recorder import StepRows

IDENTITY = {"session_id": "s", "run_id": "r", "attempt": 0, "rank": 0, "node": 0, "local_task": 0}
WARMUP_STEPS, MEASURED_STEPS, PROFILED_STEPS = 3, 5, 2
ASKED = WARMUP_STEPS + MEASURED_STEPS + PROFILED_STEPS
BEGIN = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
data = TensorDataset(torch.randn(800, 4), torch.randint(0, 3, (800,)))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def show(loss):
    print("LOSS", repr(float(loss)))
"""


@dataclass(frozen=True)
class Recorded:
    """A script that has ended."""

    code: int
    rows: StepRows | None
    said: dict[str, Any]
    """The probe's outcome."""
    log: str
    scratch: Path

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = self.said["command"]
        return found

    @property
    def counted(self) -> tuple[str, dict[str, Any]]:
        """The first origin that tells the examples of each step, and its numbers."""
        known = {origin: of for origin, of in self.facts["examples"].items() if of["batch"] is not None}
        return next(iter(known.items()), ("unknown", {"total": 0, "batch": None}))

    @property
    def counts(self) -> dict[str, int]:
        names = {"tokens": "tokens", "steps": "measured_steps", "skipped": "skipped_steps"}
        return {
            "examples": self.counted[1]["total"],
            **{name: self.facts[key] for name, key in names.items()},
        }

    @property
    def pauses(self) -> dict[int, dict[str, float]]:
        """By the step that follows: the seconds of each kind."""
        found: dict[int, dict[str, float]] = {}
        for step, kind, pause_ns in self.facts["pauses"]:
            of_step = found.setdefault(step, {})
            of_step[kind] = of_step.get(kind, 0) + pause_ns / 1e9
        return found

    def column(self, name: str) -> list[Any]:
        assert self.rows is not None
        found: list[Any] = self.rows.column(name).tolist()
        return found

    @property
    def shown(self) -> list[float]:
        """The losses that the script printed, without the first step, which is not recorded."""
        found = [float(line.split()[1]) for line in self.log.splitlines() if line.startswith("LOSS")]
        return found[1 : 1 + len(self.column("loss"))]


Run = Callable[..., Recorded]
