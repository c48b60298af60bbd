"""Files that are whole or not there, in folders where nothing of others is replaced."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from analysis.errors import AnalysisError
from analysis.stopping import temporary

if TYPE_CHECKING:
    from analysis.export.kinds import Pictures


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """To a temporary name beside it, renamed where all went well; a pipe or a device is written to as it is. Raises
    AnalysisError where it cannot be written."""
    if path.is_dir():
        raise AnalysisError(f"--out {path}: is a folder: name a file in it")
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary(partial), partial.open("wb") as stream:
            yield stream
        partial.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):  # what went wrong before is told, not what it makes impossible here
            partial.unlink(missing_ok=True)


def put_all(folder: Path, files: Mapping[str, bytes], kind: Pictures) -> list[Path]:
    """By name. Raises AnalysisError, with nothing written, where a file of that name is not a picture of ours."""
    paths = {folder / name: content for name, content in files.items()}
    try:
        for path in paths:
            if path.exists() and not (path.is_file() and kind.is_ours(path.read_bytes())):
                raise AnalysisError(
                    f"--out {folder}: {path.name} is there already, and `bench export` did not write it: choose "
                    "another folder, or move it away"
                )
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    for path, content in paths.items():
        with whole(path) as stream:
            stream.write(content)
    return list(paths)


def _unwritable(path: Path, error: OSError) -> AnalysisError:
    return AnalysisError(f"--out {path}: {error.strerror}: choose another place")
