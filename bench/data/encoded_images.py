"""Generated pictures, kept as JPEG in memory: decoding them costs the loader what real ones cost, without any file."""

from __future__ import annotations

import io
from dataclasses import dataclass

import torch
from PIL import Image

from bench.data.generated_images import GeneratedImages

_DISTINCT = 64
"""Encoded once by every rank; decoding a picture again costs as much as the first time."""
_GRAIN = 16.0
"""Standard deviation of the noise in them: a photograph's JPEG is no smooth pattern's."""
_CONTRAST = 50.0
"""Standard deviation of what is to be learnt, in the same 256 levels."""
_QUALITY = 90


@dataclass(frozen=True)
class EncodedImages:
    """`examples` pictures, of which the first 64 recur."""

    files: list[bytes]
    labels: list[int]
    examples: int

    def __len__(self) -> int:
        return self.examples

    def label(self, place: int) -> int:
        return self.labels[place % len(self.files)]

    def stored(self, place: int) -> bytes:
        return self.files[place % len(self.files)]


def generate(
    examples: int, held_out: int, classes: int, size: int, seed: int
) -> tuple[EncodedImages, EncodedImages]:
    """Pictures of `size` pixels of height and width: to train on, and others to validate on."""
    made = GeneratedImages(size=size, classes=classes, examples=examples, held_out=held_out, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    split = [
        [made.batch(number, number) for number in torch.arange(min(examples, _DISTINCT)).split(1)],
        [made.validation_batch([number]) for number in range(min(held_out, _DISTINCT))],
    ]
    train, validation = (
        EncodedImages(
            [_jpeg(made.pixels(one)[0], generator) for one in ones],
            [int(one["labels"]) for one in ones],
            count,
        )
        for ones, count in zip(split, (examples, held_out), strict=True)
    )
    return train, validation


def _jpeg(pixels: torch.Tensor, generator: torch.Generator) -> bytes:
    """`pixels`: float32 [3, H, W] of mean 0 and a deviation of about 1."""
    grain = torch.randn(pixels.shape, generator=generator).mul_(_GRAIN)
    image = grain.add_(pixels * _CONTRAST).add_(128).clamp_(0, 255).to(torch.uint8)
    file = io.BytesIO()
    Image.fromarray(image.permute(1, 2, 0).contiguous().numpy()).save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()
