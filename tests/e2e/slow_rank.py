"""A workload in which the last of several ranks is slow: in getting its batch, in forward, or in backward."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import torch
from torch import distributed, nn

from bench import workloads


@dataclass(frozen=True, kw_only=True)
class Options:
    """Place and amount of the delay."""

    slow: Literal["batch", "forward", "backward"]
    """The phase in which the last rank sleeps."""
    sleep_s: float = 0.1
    """Time that it sleeps in every step."""


class Workload(workloads.Workload):
    """One linear layer."""

    Options = Options
    dataset_size = 1_000

    def prepare(self) -> None:
        self.examples = torch.randn(self.dataset_size, 4, generator=torch.Generator().manual_seed(0))

    def model(self) -> nn.Module:
        return nn.Linear(4, 1)

    def batch(self, indices: torch.Tensor, keys: torch.Tensor) -> dict[str, torch.Tensor]:
        self._sleep("batch")
        return {"x": self.examples[indices]}

    def loss(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        self._sleep("forward")
        found: torch.Tensor = model(batch["x"]).square().mean()
        if found.requires_grad:
            found.register_hook(lambda _: self._sleep("backward"))
        return found

    def _sleep(self, place: str) -> None:
        ranks = distributed.get_world_size() if distributed.is_initialized() else 1
        if ranks > 1 and distributed.get_rank() == ranks - 1 and place == self.options.slow:
            time.sleep(self.options.sleep_s)
