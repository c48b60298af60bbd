"""A copy of the folder in which a command runs: with `isolate`, what a run writes there does not reach the next run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.common.errors import InputError

FOLDER = "work"
"""Name of the copy in a run's scratch folder, with which it is deleted."""
LARGEST_BYTES = 1 << 30


def make(source: Path, scratch: Path, results: Path) -> None:
    """Copy the files of `source` that git does not ignore; if it is in no repository, all but virtual environments of
    Python. Nothing of the folder `results`, and nothing of the agent's scratch folder, which holds `scratch`. Raises
    InputError if they are larger than LARGEST_BYTES, or cannot be copied."""
    target, total = scratch / FOLDER, 0
    left_out = [folder for folder in (results.resolve(), scratch.parent.resolve()) if folder != source]
    try:
        names = list(_names(source))
        target.mkdir()
        for name in names:
            if any((source / name).is_relative_to(folder) for folder in left_out):
                continue
            file, copy = source / name, target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if file.is_symlink():
                # a relative link that stays inside leads into the copy
                is_inside = not file.readlink().is_absolute() and file.resolve().is_relative_to(
                    source.resolve()
                )
                copy.symlink_to(file.readlink() if is_inside else file.parent / file.readlink())
            elif file.is_file():
                total += file.stat().st_size
                if total > LARGEST_BYTES:
                    raise InputError(
                        f"isolate: {source} holds more than {LARGEST_BYTES >> 30} GiB of files: keep data elsewhere or "
                        "let git ignore them, or run without isolate"
                    )
                shutil.copy2(file, copy)
    except OSError as error:
        raise InputError(
            f"isolate: {source} cannot be copied: {error.strerror}: {error.filename}; correct this, or run without "
            "isolate"
        ) from error


def _names(source: Path) -> Iterator[str]:
    """Files and links below `source`, relative to it."""
    known = _known_to_git(source)
    if known is not None:
        for name in known:
            if (source / name).is_dir() and not (source / name).is_symlink():  # a repository of its own
                yield from (f"{name.rstrip('/')}/{inner}" for inner in _names(source / name))
            else:
                yield name
        return
    for folder, folders, names in os.walk(source):
        if "pyvenv.cfg" in names and Path(folder) != source:  # a virtual environment
            folders.clear()
            continue
        links = [each for each in folders if Path(folder, each).is_symlink()]
        for name in (*names, *links):
            yield os.path.relpath(Path(folder, name), source)


def _known_to_git(source: Path) -> Iterator[str] | None:
    """Files that git tracks, or would if they were added; null if there is no git or no repository."""
    if shutil.which("git") is None:
        return None
    command = ["git", "-C", str(source), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", check=False)
    if listed.returncode != 0:
        return None
    return (name for name in listed.stdout.split("\0") if name)
