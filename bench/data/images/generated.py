"""Pictures made on the device in the step that trains on them: only their numbers are copied to the device.

A picture is 4x4 values per channel, stretched bilinearly: its class's values, mixed with values of its own. One matrix
product makes a batch that is already normalised, and writes as many bytes as normalising stored pictures would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from bench.data.per_device import PerDevice
from bench.data.synthetic import keyed

if TYPE_CHECKING:
    from bench.workloads import Batch

_CHANNELS = 3
_SIDE = 4
_VALUES = _CHANNELS * _SIDE * _SIDE
_CLASS, _OWN = 0, 1
"""Streams of random numbers; see bench/data/synthetic/keyed.py."""


@dataclass(kw_only=True)
class GeneratedImages:
    """Pictures with height and width `size`, in pixels, in `classes` classes; a picture depends on (seed, its
    number)."""

    size: int
    classes: int
    examples: int
    """Training examples."""
    held_out: int
    seed: int

    def __post_init__(self) -> None:
        self._stretch = PerDevice(self._stretch_matrix)

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:  # noqa: ARG002 - nothing here is random
        """`numbers` and `labels`, both int64 [B]."""
        return {"numbers": places, "labels": places % self.classes}

    def validation_batch(self, indices: list[int]) -> Batch:
        """Held-out pictures have numbers below 0, which are never trained on."""
        numbers = torch.tensor(indices)
        return {"numbers": -1 - numbers, "labels": numbers % self.classes}

    def pixels(self, batch: Batch) -> torch.Tensor:
        """float32 [B, 3, size, size] on the batch's device, of mean 0 and a deviation of about 1."""
        labels = batch["labels"]
        stretch = self._stretch.on(labels.device)
        shared = keyed.uniform(self.seed, labels, _VALUES, _CLASS).mul_(4.2)
        own = keyed.uniform(self.seed, batch["numbers"], _VALUES, _OWN)
        coarse = shared.add_(own.mul_(1.8).sub_(3.0))
        with torch.autocast(labels.device.type, enabled=False):
            pixels = coarse.view(-1, _SIDE * _SIDE) @ stretch
        return pixels.view(-1, _CHANNELS, self.size, self.size)

    def _stretch_matrix(self, device: torch.device) -> torch.Tensor:
        """The matrix that stretches both sides at once, [16, size x size]."""
        side = F.interpolate(torch.eye(_SIDE, device=device)[None], self.size, mode="linear")[0]
        return torch.kron(side, side)
