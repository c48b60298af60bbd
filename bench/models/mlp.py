"""A multi-layer perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn


class Mlp(nn.Module):
    """Hidden layers with ReLU, then one linear layer: [B, inputs] to [B, outputs]."""

    def __init__(self, inputs: int, hidden: Sequence[int], outputs: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width_in, width_out in pairwise([inputs, *hidden]):
            layers += [nn.Linear(width_in, width_out), nn.ReLU()]
        self.hidden = nn.Sequential(*layers)
        self.output = nn.Linear(hidden[-1], outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.output(self.hidden(x))
        return logits
