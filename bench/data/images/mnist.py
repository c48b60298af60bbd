"""MNIST, and data sets in its format; nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from bench.common.errors import InputError
from bench.data.images import idx

DIGITS = Path(__file__).parents[1] / "digits"
"""Root of the UCI digits that are part of the package."""

Split = tuple[torch.Tensor, torch.Tensor]
"""Images uint8 [N, 1, H, W], labels int64 [N]."""


def read(root: Path) -> tuple[Split, Split]:
    """Training and test split under ROOT/MNIST/raw. Raises InputError with a missing or damaged file."""
    train, test = (_split(root, part) for part in ("train", "t10k"))
    return train, test


def resize(images: torch.Tensor, size: int) -> torch.Tensor:
    """uint8 [N, 1, H, W] to uint8 [N, 1, size, size], bilinear."""
    if images.shape[-1] == size:
        return images
    scaled = F.interpolate(images.float(), size=(size, size), mode="bilinear", align_corners=False)
    return scaled.round_().to(torch.uint8)


def _find(root: Path, name: str) -> Path:
    plain = root / "MNIST" / "raw" / name
    for path in (plain, plain.with_name(f"{name}.gz")):
        if path.is_file():
            return path
    raise InputError(
        f"no {name}[.gz] in {plain.parent}: put MNIST's four files there, or give the folder above MNIST/ with --data"
    )


def _split(root: Path, part: str) -> Split:
    paths = [_find(root, f"{part}-{name}") for name in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    images, labels = map(idx.read, paths)
    if images.ndim != 3 or labels.shape != images.shape[:1]:
        raise InputError(
            f"{paths[0]} of shape {images.shape} and {paths[1]} of shape {labels.shape} do not belong together"
        )
    return torch.from_numpy(images)[:, None], torch.from_numpy(labels).long()
