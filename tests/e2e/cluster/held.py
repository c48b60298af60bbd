"""A variant of tests/e2e/faulty.py in which one rank waits at a step, and so do the others, until a test releases
it."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import faulty  # noqa: E402 - both are copied into one folder of results


@dataclass(frozen=True, kw_only=True)
class Options(faulty.Options):
    """The fault, its place, and the rank that waits."""

    hold: str = ""
    """While a file of this name is next to this one, rank `on_rank` waits at step `at_step`."""


class Workload(faulty.Workload):
    """One linear layer."""

    Options = Options

    def loss(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        step = int(batch["key"][0]) // (len(batch["key"]) * world)
        if self.options.hold and step == self.options.at_step and rank == self.options.on_rank:
            wait_for_the_end_of(HERE / self.options.hold)
        return super().loss(model, batch)


def wait_for_the_end_of(file: Path) -> None:
    while file.exists():
        time.sleep(0.02)
