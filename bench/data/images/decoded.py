"""Stored pictures as training examples: the loader decodes them, the device normalises them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import torch
from PIL import Image

from bench.data.images import pictures
from bench.data.per_device import PerDevice
from bench.data.synthetic import keyed

if TYPE_CHECKING:
    from bench.workloads import Batch

_CUT = 0
"""Stream of random numbers; see bench/data/synthetic/keyed.py."""
_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)
"""Mean and standard deviation of ImageNet's red, green and blue, as torchvision's models expect."""


def _scale_and_shift(device: torch.device) -> torch.Tensor:
    """Factor and summand that normalise a byte of each channel, [2, 3, 1, 1]."""
    mean, deviation = (torch.tensor(value, device=device).view(3, 1, 1) for value in (_MEAN, _DEVIATION))
    return torch.stack([1 / (255 * deviation), -mean / deviation])


_SCALE_AND_SHIFT = PerDevice(_scale_and_shift)


class Stored(Protocol):
    """Encoded pictures with labels, by index."""

    def __len__(self) -> int: ...

    def label(self, place: int) -> int: ...

    def stored(self, place: int) -> bytes | Path:
        """The encoded picture, or its file."""


@dataclass(kw_only=True)
class DecodedImages:
    """Pictures with height and width `size`, in pixels; random cuts and mirroring depend on (seed, key) only."""

    train: Stored
    validation: Stored
    held_out: int
    """Number of pictures of `validation` to use, evenly spread over it, so that even a few are from many classes."""
    size: int
    seed: int

    @property
    def examples(self) -> int:
        return len(self.train)

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:
        """`images` uint8 [B, size, size, 3], as decoders write them, and `labels` int64 [B]."""
        draws = iter(keyed.uniform(self.seed, keys, pictures.DRAWS, _CUT).tolist())
        return _batch(self.train, places.tolist(), lambda p: pictures.random_cut(p, self.size, next(draws)))

    def validation_batch(self, indices: list[int]) -> Batch:
        places = [index * len(self.validation) // self.held_out for index in indices]
        return _batch(self.validation, places, lambda p: pictures.middle_cut(p, self.size))

    def pixels(self, batch: Batch) -> torch.Tensor:
        """float32 [B, 3, size, size], laid out as NHWC."""
        images = batch["images"].permute(0, 3, 1, 2)
        scale, shift = _SCALE_AND_SHIFT.on(images.device).unbind()
        return (images * scale).add_(shift)


def _batch(kept: Stored, places: list[int], cut: Callable[[Image.Image], torch.Tensor]) -> Batch:
    images = torch.stack([cut(pictures.decode(kept.stored(place))) for place in places])
    return {"images": images, "labels": torch.tensor([kept.label(place) for place in places])}
