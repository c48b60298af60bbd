"""Dropout whose mask depends on the example, so that world size and recomputation do not change it."""

from __future__ import annotations

import torch
from torch import nn

from bench.data.synthetic import keyed

_FIRST_STREAM = 16
"""Lower numbers are for random numbers drawn outside the model."""


class KeyedDropout(nn.Module):
    """Zeroes elements of x [B, ...] with probability p in training, depending on (seed, stream, key of the example)."""

    def __init__(self, p: float, seed: int) -> None:
        super().__init__()
        self.p = p
        self.seed = seed
        self.stream = 0
        """Number of this dropout layer in its model; see number_streams."""

    def forward(self, x: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        if self.p == 0 or not self.training:
            return x
        drawn = keyed.uniform(self.seed, keys, x[0].numel(), self.stream).view(x.shape)
        return x * (drawn >= self.p).to(x.dtype) / (1 - self.p)


def number_streams(model: nn.Module) -> None:
    """Give each dropout layer of the model its own stream, in the order of `modules()`."""
    layers = (module for module in model.modules() if isinstance(module, KeyedDropout))
    for stream, layer in enumerate(layers, start=_FIRST_STREAM):
        layer.stream = stream
