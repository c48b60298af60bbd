"""CIFAR-10, read by torchvision; nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

import torch
from torchvision.datasets import CIFAR10
from torchvision.datasets.utils import check_integrity

from bench.common.errors import InputError


def read(root: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Training and test images under ROOT/cifar-10-batches-py, uint8 [50000, 3, 32, 32] and [10000, 3, 32, 32].

    The files are pickles, which can run code when read, so their published checksums are verified first. Raises
    InputError with the file that is missing or differs."""
    folder = root / CIFAR10.base_folder
    published = [*CIFAR10.train_list, *CIFAR10.test_list, (CIFAR10.meta["filename"], CIFAR10.meta["md5"])]
    for name, md5 in published:
        if not (folder / name).is_file():
            raise InputError(
                f"no {name} in {folder}: unpack cifar-10-python.tar.gz there, or give the folder above "
                f"{CIFAR10.base_folder}/ with --data"
            )
        if not check_integrity(folder / name, md5):
            raise InputError(
                f"{folder / name} is not the published file (MD5 {md5}): it was not opened; unpack it again"
            )
    return _images(root, train=True), _images(root, train=False)


def _images(root: Path, *, train: bool) -> torch.Tensor:
    dataset = CIFAR10(root, train=train, download=False)
    return torch.from_numpy(dataset.data).permute(0, 3, 1, 2).contiguous()
