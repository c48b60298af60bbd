"""A workload with everything that a careless validation would disturb: dropout from torch's own generator, batch
statistics, a part that stays in eval mode, and a validation that draws random numbers itself."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from bench import workloads


@dataclass(frozen=True, kw_only=True)
class Options:
    """No options."""


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
        self.frozen = nn.Dropout(0.9).eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(self.frozen(x))


class Workload(workloads.Workload):
    """Regression on a linear map."""

    Options = Options
    dataset_size = 256
    validation_size = 300

    def prepare(self) -> None:
        self.examples = torch.randn(self.dataset_size, 4, generator=torch.Generator().manual_seed(0))

    def model(self) -> nn.Module:
        return Model()

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return [model.body[0]]

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"x": self.examples[places]}

    def loss(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return (model(batch["x"]).squeeze(1) - batch["x"].sum(1)).square().mean()

    def validation_batch(self, indices: list[int]) -> dict[str, torch.Tensor]:
        return {"x": torch.ones(len(indices), 4)}

    def evaluate(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, None]:
        noise = torch.randn(batch["x"].shape)
        return (model(batch["x"] + noise).squeeze(1) - 4).square(), None
