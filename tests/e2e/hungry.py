"""A workload that needs eight times as much memory as its examples, but little time."""

from __future__ import annotations

import torch
from torch import nn

from bench import workloads

MIB = 2**20
EXAMPLES = 64


class Scaled(nn.Module):
    """A wave whose amplitude is learnt, through layers that each keep their input."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for factor in self.scale:
            x = torch.tanh(x * factor)
        return x


class Workload(workloads.Workload):
    """Examples of 1 MiB, which differ in their amplitude."""

    dataset_size = EXAMPLES

    def prepare(self) -> None:
        self.wave = torch.linspace(-1, 1, MIB // 4)
        self.amplitudes = torch.linspace(0.5, 2, EXAMPLES)

    def model(self) -> nn.Module:
        return Scaled()

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"x": self.amplitudes[places, None] * self.wave}

    def loss(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return (model(batch["x"]) - batch["x"]).square().mean()
