"""Rotary position embedding (RoPE; Su et al. 2021, arXiv:2104.09864): positions as angles of queries and keys.

Element i of a head and element i + D/2 are a plane, turned by position x 10000^(-2i/D). The product of a query and
a key then hangs on the distance of their positions alone, and the model needs no table of positions.
"""

from __future__ import annotations

import torch

_BASE = 10_000.0

Rotation = tuple[torch.Tensor, torch.Tensor]
"""Cosines [T, 1, 1, D/2] and signed sines [T, 1, 2, D/2] of every position."""


def rotation(length: int, head_size: int, *, device: torch.device, dtype: torch.dtype) -> Rotation:
    """Angles of positions 0 to length - 1, in float32 until they are cosines and sines of `dtype`.

    Made in every forward pass: as a buffer, DDP would broadcast it before each."""
    exponents = torch.arange(0, head_size, 2, device=device, dtype=torch.float32) / head_size
    positions = torch.arange(length, device=device, dtype=torch.float32)
    angles = positions[:, None, None, None] * torch.pow(_BASE, -exponents)
    sines = angles.sin()
    return angles.cos().to(dtype), torch.cat([-sines, sines], dim=2).to(dtype)


def rotate(x: torch.Tensor, by: Rotation) -> torch.Tensor:
    """Queries or keys [B, T, heads, D], turned: three kernels, where slices and a cat would be seven."""
    cosines, sines = by
    halves = x.unflatten(-1, (2, -1))
    return torch.addcmul(halves * cosines, halves.flip(-2), sines).flatten(-2)
