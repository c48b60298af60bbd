"""A workload with steps of a given length, which are shorter in some repeats. A late step shortens the next one."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import nn

from bench import workloads


@dataclass(frozen=True, kw_only=True)
class Options:
    """Length of a step."""

    step_s: float = 0.25
    """Time of a step."""
    fast_repeats: list[int]
    """Repeats that take two thirds of it, by their seeds, which begin at 0."""


class Workload(workloads.Workload):
    """One linear layer."""

    Options = Options
    dataset_size = 1_000

    def __init__(self, options: Options, source: str, data_root: str | None, seed: int) -> None:
        super().__init__(options, source, data_root, seed)
        self.step_s = options.step_s / (1.5 if seed in options.fast_repeats else 1)
        self.end_s: float | None = None

    def prepare(self) -> None:
        self.examples = torch.randn(self.dataset_size, 4, generator=torch.Generator().manual_seed(0))

    def model(self) -> nn.Module:
        return nn.Linear(4, 1)

    def batch(self, indices: torch.Tensor, keys: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"x": self.examples[indices]}

    def loss(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        now_s = time.monotonic()
        self.end_s = (self.end_s or now_s) + self.step_s
        time.sleep(max(0.0, self.end_s - now_s))
        return model(batch["x"]).square().mean()
