"""Rotary position embedding (RoPE; Su et al. 2021, arXiv:2104.09864): positions as angles of queries and keys.

Elements i and i + D/2 of a head form a plane, which is rotated by position x 10000^(-2i/D). The product of a query and
a key then depends only on the distance of their positions, and the model needs no table of positions.
"""

from __future__ import annotations

import torch

_BASE = 10_000.0

Rotation = tuple[torch.Tensor, torch.Tensor]
"""Cosines [T, 1, 1, D/2] and signed sines [T, 1, 2, D/2] of every position."""


def rotation(positions: torch.Tensor, head_size: int, *, dtype: torch.dtype) -> Rotation:
    """Cosines and sines for the positions [T], computed in float32 and converted to `dtype`.

    Call it in every forward pass: DDP would broadcast a buffer before each."""
    exponents = torch.arange(0, head_size, 2, device=positions.device, dtype=torch.float32) / head_size
    angles = positions.float()[:, None, None, None] * torch.pow(_BASE, -exponents)
    sines = angles.sin()
    return angles.cos().to(dtype), torch.cat([-sines, sines], dim=2).to(dtype)


def rotate(x: torch.Tensor, by: Rotation) -> torch.Tensor:
    """Rotate queries or keys [B, T, heads, D], in three kernels; slices and a cat would need seven."""
    cosines, sines = by
    halves = x.unflatten(-1, (2, -1))
    return torch.addcmul(halves * cosines, halves.flip(-2), sines).flatten(-2)
