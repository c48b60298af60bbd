"""JSON files: written to a temporary name and renamed; NaN and infinities become null, and a byte of the
command line that is no UTF-8 becomes `?`."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
from io import FileIO
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> None:
    """Write atomically: a reader sees the old file or the new one."""
    temporary = path.with_name(path.name + ".tmp")
    text = json.dumps(finite(value), indent=1, ensure_ascii=False, allow_nan=False)
    try:
        temporary.write_text(text + "\n", encoding="utf-8", errors="replace")
        commit(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error  # a full disk does not say where


def commit(temporary: Path, path: Path) -> None:
    """Give a whole file its name, so that after a power loss there is the old file or the new one."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.rename(path)


def copy_whole(path: Path, target: Path) -> None:
    """Copy a file so that `target` is there whole or not at all. Imports and loads nothing."""
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        shutil.copyfile(path, temporary)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    temporary.rename(target)


def append_whole(file: FileIO, content: bytes) -> None:
    """Add to a file all of it or nothing: what comes after half a row could not be told apart.

    Raises OSError with the file's name, which a full disk does not say."""
    before = file.tell()
    try:
        written = file.write(content)
        if written < len(content):
            file.truncate(before)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file.name)) from error


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def digest(content: bytes) -> str:
    """The first 64 bits of its SHA-256: short enough for a table, and no two of a user's files share it."""
    return hashlib.sha256(content).hexdigest()[:16]


def finite(value: Any) -> Any:
    """The value with every NaN and infinity replaced by null, which is what JSON has."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def attempt_folder(run: Path, attempt: int) -> Path:
    """Where files of an attempt belong: the run's folder, until a resume has set that attempt aside.

    An agent that was given up, and wakes, must not touch what came after it."""
    aside = run / f"attempt{attempt}"
    return aside if aside.is_dir() else run


def raw_files(folder: Path) -> list[Path]:
    """What ranks left there, not yet made into Parquet: rows of each rank, and the validations of rank 0."""
    return sorted([*folder.glob("*.rank*.raw"), *folder.glob("evals.raw")])
