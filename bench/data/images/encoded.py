"""Generated pictures as JPEG in memory: the loader decodes them as it would decode real ones, without files."""

from __future__ import annotations

import io
from dataclasses import dataclass

import torch
from PIL import Image

from bench.data.images.generated import GeneratedImages

_DISTINCT = 64
"""Number of different pictures, which every rank encodes once; decoding one again takes as long as the first time."""
_GRAIN = 16.0
"""Standard deviation, in 256 levels, of noise: a JPEG of a smooth pattern would be smaller than a photograph's."""
_CONTRAST = 50.0
"""Standard deviation, in 256 levels, of the pattern to be learnt."""
_QUALITY = 90


@dataclass(frozen=True)
class EncodedImages:
    """`examples` pictures; the first 64 are repeated."""

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
    """Training and validation pictures with height and width `size`, in pixels."""
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
