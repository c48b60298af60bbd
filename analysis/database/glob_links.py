"""Symlinks for paths that DuckDB would read as glob patterns: one temporary folder for each process."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATTERN = re.compile(r"[*?\[\\]")


def links_folder() -> Path:
    """The folder of this process's links; it is removed when the process ends."""
    return Path(_temporary_folder().name)


@functools.cache
def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="scalebench-load-")


@contextmanager
def without_patterns(paths: list[str]) -> Iterator[list[str]]:
    """The same paths in the same order; a link replaces each path that DuckDB would read as a pattern.

    Escaping cannot do this for every name: `a\\b[c` has no escaped form, and no pattern matches inside a folder `\\a`.
    """
    if not any(map(_PATTERN.search, paths)):
        yield paths
        return
    with tempfile.TemporaryDirectory(dir=links_folder()) as folder:
        safe = []
        for number, path in enumerate(paths):
            link = Path(folder) / f"{number}.parquet"
            if _PATTERN.search(path):
                link.symlink_to(path)
            safe.append(str(link) if link.is_symlink() else path)
        yield safe
