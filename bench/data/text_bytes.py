"""Text as bytes: the .txt files of a folder, or the Python standard library's own source. Nothing is decoded."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import torch

from bench.errors import InputError

LARGEST_BYTES = 512 * 1024**2
"""Every rank holds all of it in memory."""
_TESTS = {"test", "tests"}
"""Folders of the standard library that many installations leave out."""


def read(root: Path | None) -> torch.Tensor:
    """uint8 [N]: all files one after another, a zero byte behind each; without a root the standard library's.

    Raises InputError where there is no such file, where one cannot be read, and beyond LARGEST_BYTES."""
    files = standard_library(Path(sysconfig.get_path("stdlib"))) if root is None else _below(root)
    try:
        size_bytes = sum(path.stat().st_size for path in files)
        if size_bytes > LARGEST_BYTES:
            raise InputError(
                f"{whose(root)} has {size_bytes:,} bytes in {len(files):,} files: {LARGEST_BYTES:,} at most, since "
                "every rank holds them in memory; give a folder with fewer by --data"
            )
        text = bytearray().join(path.read_bytes() + b"\0" for path in files)
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read: {error.strerror}") from error
    return torch.frombuffer(text, dtype=torch.uint8)


def whose(root: Path | None) -> str:
    """The text in words, for errors."""
    return "the text of Python's standard library" if root is None else f"the text below {root}"


def standard_library(folder: Path) -> list[Path]:
    """Sources of the modules that this Python names as its standard library, by name, without their tests."""
    files = [path for name in sorted(sys.stdlib_module_names) for path in _module(folder, name)]
    if not files:
        raise InputError(
            f"no source of Python's standard library in {folder}: this Python comes without it; give a folder with "
            "*.txt files by --data, or use source synthetic"
        )
    return files


def _module(folder: Path, name: str) -> Iterator[Path]:
    plain = folder / f"{name}.py"
    if plain.is_file():
        yield plain
    for path in sorted((folder / name).rglob("*.py")):
        if not _TESTS & set(path.relative_to(folder).parts):
            yield path


def _below(root: Path) -> list[Path]:
    files = [path for path in sorted(root.rglob("*.txt")) if path.is_file()]
    if not files:
        raise InputError(f"no *.txt file below {root}: put text there, or give another folder by --data")
    return files
