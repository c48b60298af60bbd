"""Write and read files: atomically, so that a reader sees an old or a new file, never half of one."""

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
    """Write JSON atomically. NaN and infinities become null; a byte of the command line that is not UTF-8, `?`."""
    temporary = path.with_name(path.name + ".tmp")
    text = json.dumps(finite(value), indent=1, ensure_ascii=False, allow_nan=False)
    try:
        temporary.write_text(text + "\n", encoding="utf-8", errors="replace")
        commit(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error  # a full disk does not name the file


def commit(temporary: Path, path: Path) -> None:
    """Rename a complete file, so that after a power loss the old file or the new one exists."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.rename(path)


def copy_whole(path: Path, target: Path) -> None:
    """Copy a file completely or not at all. Imports nothing, so it works after a container's image has gone."""
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        shutil.copyfile(path, temporary)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    temporary.rename(target)


def append_whole(file: FileIO, content: bytes) -> None:
    """Append all of `content` or nothing: rows after half a row could not be read.

    Raises OSError with the file's name, which a full disk does not give."""
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
    """The first 64 bits of the SHA-256 in hex: short enough for a table, and unique among a user's files."""
    return hashlib.sha256(content).hexdigest()[:16]


def finite(value: Any) -> Any:
    """The value with NaN and infinities replaced by null, because JSON has neither."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def attempt_folder(run: Path, attempt: int) -> Path:
    """The folder of an attempt's files: the run's folder, until a resume has set that attempt aside.

    An agent that was declared lost and then wakes must not touch files of later attempts."""
    aside = run / f"attempt{attempt}"
    return aside if aside.is_dir() else run


def raw_files(folder: Path) -> list[Path]:
    """Files of ranks that are not yet converted to Parquet: rows of each rank, and the validations of rank 0."""
    return sorted([*folder.glob("*.rank*.raw"), *folder.glob("evals.raw")])
