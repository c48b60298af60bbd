"""Text as bytes, not decoded: the .txt files of a folder, or the source code of Python's standard library."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import torch

from bench.common.errors import InputError

LARGEST_BYTES = 512 * 1024**2
"""Largest text; every rank holds all of it in memory."""
_TESTS = {"test", "tests"}
"""Folders of the standard library that are missing in many installations."""


def read(root: Path | None) -> torch.Tensor:
    """uint8 [N]: all files one after another, each with a zero byte at its end [default: the standard library's].

    Raises InputError if there is no file, if one cannot be read, or if they have more than LARGEST_BYTES."""
    if root is None:
        files = standard_library(Path(sysconfig.get_path("stdlib")))
    else:
        files = [path for path in sorted(root.rglob("*.txt")) if path.is_file()]
        if not files:
            raise InputError(
                f"no *.txt file below {root}: put text there, or give another folder with --data"
            )
    try:
        size_bytes = sum(path.stat().st_size for path in files)
        if size_bytes > LARGEST_BYTES:
            raise InputError(
                f"{name_of(root)} has {size_bytes:,} bytes in {len(files):,} files, at most {LARGEST_BYTES:,} are "
                "allowed because every rank holds them in memory: give a folder with fewer bytes with --data"
            )
        text = bytearray().join(path.read_bytes() + b"\0" for path in files)
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read: {error.strerror}") from error
    return torch.frombuffer(text, dtype=torch.uint8)


def name_of(root: Path | None) -> str:
    """The text's name in errors."""
    return "the text of Python's standard library" if root is None else f"the text below {root}"


def standard_library(folder: Path) -> list[Path]:
    """Source files of the standard library's modules, sorted by name, without tests. Raises InputError if none."""
    files = [path for name in sorted(sys.stdlib_module_names) for path in _module(folder, name)]
    if not files:
        raise InputError(
            f"no source of Python's standard library in {folder}: give a folder with *.txt files with --data, or use "
            "source synthetic"
        )
    return files


def _module(folder: Path, name: str) -> Iterator[Path]:
    plain = folder / f"{name}.py"
    if plain.is_file():
        yield plain
    for path in sorted((folder / name).rglob("*.py")):
        if not _TESTS & set(path.relative_to(folder).parts):
            yield path
