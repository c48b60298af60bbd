"""MNIST and what is stored like it, through torchvision, which never downloads here."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from pathlib import Path

import torch
from torch.nn import functional as F  # noqa: N812 - its name everywhere
from torchvision.datasets import MNIST

from bench.data import idx
from bench.errors import InputError

DIGITS = Path(__file__).parent / "digits"
"""Root of the UCI digits that the package brings along."""

Split = tuple[torch.Tensor, torch.Tensor]
"""Images uint8 [N, 1, H, W], labels int64 [N]."""


def read(root: Path) -> tuple[Split, Split]:
    """Training and test split under ROOT/MNIST/raw; raises InputError naming a missing or damaged file."""
    files = {name: _find(root, name) for name in _names()}
    for part in ("train", "t10k"):
        _check(files[f"{part}-images-idx3-ubyte"], files[f"{part}-labels-idx1-ubyte"])
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


def _names() -> list[str]:
    return [url.removesuffix(".gz") for url, _ in MNIST.resources]


def _find(root: Path, name: str) -> Path:
    plain = root / "MNIST" / "raw" / name
    for path in (plain, plain.with_name(f"{name}.gz")):
        if path.is_file():
            return path
    raise InputError(
        f"no {name}[.gz] in {plain.parent}: put MNIST's four files there, or give the folder above MNIST/ by --data"
    )


def _check(images: Path, labels: Path) -> None:
    image_shape, label_shape = idx.shape(images), idx.shape(labels)
    if len(image_shape) != 3 or label_shape != image_shape[:1]:
        raise InputError(
            f"{images} of shape {image_shape} and {labels} of shape {label_shape} do not belong together"
        )


def _place(path: Path, target: Path) -> None:
    """Where torchvision looks for it: it reads unpacked files only, and the user's folder may be read-only."""
    if path.suffix != ".gz":
        target.symlink_to(path.resolve())
        return
    with gzip.open(path) as packed, target.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)


def _split(root: str, *, train: bool) -> Split:
    dataset = MNIST(root, train=train, download=False)
    return dataset.data[:, None], dataset.targets.long()
