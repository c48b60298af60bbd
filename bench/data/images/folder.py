"""Pictures in folders named after their classes, as in torchvision's ImageFolder and ImageNet: DIR/train/CLASS/NAME.jpg
and DIR/val/CLASS/NAME.jpg. A class's number is its index in alphabetical order."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.common.errors import InputError
from bench.data.images.pictures import SUFFIXES

_LAYOUT = "pictures belong in {folder}/CLASS/NAME.jpg"


@dataclass(frozen=True)
class ImageFolder:
    """The files of one split, in arrays. Memory of a million str objects would be copied into every loader process,
    which changes their reference counts."""

    folder: Path
    names: npt.NDArray[np.bytes_]
    """[N] paths relative to the folder, in the file system's encoding."""
    labels: npt.NDArray[np.int64]
    """[N]"""

    def __len__(self) -> int:
        return len(self.names)

    def label(self, place: int) -> int:
        return int(self.labels[place])

    def stored(self, place: int) -> Path:
        return self.folder / os.fsdecode(self.names[place])


def read(root: Path, classes: int, *, held_out: int) -> tuple[ImageFolder, ImageFolder]:
    """The files under ROOT/train and ROOT/val; none is opened. With held_out 0, val need not exist.

    Raises InputError with the path that is missing."""
    train = root / "train"
    names = _classes(train, "give the folder above train/ with --data")
    if len(names) < 2:
        raise InputError(f"{train} has only one class folder, {names[0]}: training needs two or more")
    if len(names) != classes:
        raise InputError(
            f"{train} has {len(names)} classes, the workload's option classes is {classes}: "
            f"set workload.classes to {len(names)}"
        )
    if not held_out:
        return _split(train, names, names), _split(train, names, [])
    validation = root / "val"
    found = _classes(validation, "set workload.validation_examples to 0 to train without")
    if unknown := sorted(set(found) - set(names)):
        raise InputError(
            f"{validation / unknown[0]} is not a class of {train}: both need folders of the same names"
        )
    return _split(train, names, names), _split(validation, names, found)


def _classes(folder: Path, remedy: str) -> list[str]:
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}: {_LAYOUT.format(folder=folder)}; {remedy}")
    names = sorted(
        entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith(".")
    )
    if not names:
        raise InputError(f"{folder} has no folders of classes: {_LAYOUT.format(folder=folder)}; {remedy}")
    return names


def _split(folder: Path, all_names: list[str], names: list[str]) -> ImageFolder:
    files: list[bytes] = []
    labels: list[int] = []
    numbers = {name: number for number, name in enumerate(all_names)}
    for name in names:
        entries = (entry.name for entry in os.scandir(folder / name))
        found = sorted(
            file for file in entries if file.lower().endswith(SUFFIXES) and not file.startswith(".")
        )
        if not found:
            kinds = " ".join(SUFFIXES)
            raise InputError(f"{folder / name} has no pictures ({kinds}): {_LAYOUT.format(folder=folder)}")
        files += [os.fsencode(f"{name}/{file}") for file in found]
        labels += [numbers[name]] * len(found)
    return ImageFolder(folder, np.array(files, dtype=np.bytes_), np.array(labels, dtype=np.int64))
