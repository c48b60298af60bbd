"""Generated examples: a pure function of their seed, and learnable."""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F  # noqa: N812 - its name everywhere

_AT_ONCE = 256
"""Images; all of them in float32 would not fit into a cache."""


def spirals(count: int, classes: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points float32 [count, 2] in about [-1, 1] on interleaved, noisy spiral arms; their arms int64 [count]."""
    generator = torch.Generator().manual_seed(seed)
    arm = torch.arange(count) % classes
    radius = torch.rand(count, generator=generator).sqrt_()
    noise = torch.randn(count, generator=generator) * 0.1
    angle = 2 * math.pi * (radius * 0.75 + arm / classes) + noise
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), arm


def patterns(
    count: int, classes: int, channels: int, size: int, seed: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Images uint8 [count, channels, size, size] and classes int64 [count].

    Each class is a smooth pattern of 4x4 random values; each image mixes it with a smooth pattern of its own."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % classes
    shared = torch.rand(classes, channels, 4, 4, generator=generator)
    own = torch.rand(count, channels, 4, 4, generator=generator)
    coarse = (shared[labels] * 0.7 + own * 0.3) * 255
    # Bilinear interpolation is a matrix product on each side, and in this form several times as fast.
    stretch = F.interpolate(torch.eye(4)[None], size=size, mode="linear", align_corners=False)[0]
    images = torch.empty(count, channels, size, size, dtype=torch.uint8)
    for some, target in zip(coarse.split(_AT_ONCE), images.split(_AT_ONCE), strict=True):
        target.copy_((stretch.T @ some @ stretch).round_())
    return images, labels
