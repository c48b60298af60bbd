"""Write files completely or not at all, and replace no one else's files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from analysis.database.interrupt import temporary
from analysis.errors import AnalysisError

if TYPE_CHECKING:
    from analysis.export.format_types import Pictures


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Write to a temporary file in the same folder and rename it on success; write to a pipe or device directly. Raises
    AnalysisError if the file cannot be written."""
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
        with suppress(OSError):  # report the first error, not its consequences here
            partial.unlink(missing_ok=True)


def put_all(folder: Path, files: Mapping[str, bytes], kind: Pictures) -> list[Path]:
    """Write the files by name. Raises AnalysisError, with nothing written, if one would replace a file that is not a
    picture of ours."""
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
