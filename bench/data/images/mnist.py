"""MNIST, and data sets in its format, read by torchvision; nothing is downloaded."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from pathlib import Path

import torch
from torch.nn import functional as F  # noqa: N812 - its name everywhere
from torchvision.datasets import MNIST

from bench.common.errors import InputError
from bench.data.images import idx

DIGITS = Path(__file__).parents[1] / "digits"
"""Root of the UCI digits that are part of the package."""

Split = tuple[torch.Tensor, torch.Tensor]
"""Images uint8 [N, 1, H, W], labels int64 [N]."""


def read(root: Path) -> tuple[Split, Split]:
    """Training and test split under ROOT/MNIST/raw. Raises InputError with a missing or damaged file."""
    names = [url.removesuffix(".gz") for url, _ in MNIST.resources]
    files = {name: _find(root, name) for name in names}
    for part in ("train", "t10k"):
        images, labels = files[f"{part}-images-idx3-ubyte"], files[f"{part}-labels-idx1-ubyte"]
        image_shape, label_shape = idx.shape(images), idx.shape(labels)
        if len(image_shape) != 3 or label_shape != image_shape[:1]:
            raise InputError(
                f"{images} of shape {image_shape} and {labels} of shape {label_shape} do not belong together"
            )
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "MNIST", "raw")
        raw.mkdir(parents=True)
        for name, path in files.items():
            _place(path, raw / name)
        return _split(folder, train=True), _split(folder, train=False)


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


def _place(path: Path, target: Path) -> None:
    """Link or unpack the file for torchvision, which reads only unpacked files; the user's folder may be read-only."""
    if path.suffix != ".gz":
        target.symlink_to(path.resolve())
        return
    with gzip.open(path) as packed, target.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)


def _split(root: str, *, train: bool) -> Split:
    dataset = MNIST(root, train=train, download=False)
    return dataset.data[:, None], dataset.targets.long()
