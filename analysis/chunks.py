"""The files of a load in portions of whole runs: what a load needs of memory hangs on a portion, not on the load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from analysis.batch import ParquetFile

ROWS = 4_000_000
"""Of one portion; a single run may have more."""
_ROWS_OF_A_FILE = 1000
"""To open a file takes as much memory as about so many rows of it."""


def of_whole_runs(files: Iterable[ParquetFile], rows: int) -> Iterator[list[ParquetFile]]:
    """What is derived of a run's rows needs all of them at once, and of no other run."""
    chunk: list[ParquetFile] = []
    held = 0
    for run in runs(files):
        more = sum(max(file.rows, _ROWS_OF_A_FILE) for file in run)
        if chunk and held + more > rows:
            yield chunk
            chunk, held = [], 0
        chunk += run
        held += more
    if chunk:
        yield chunk


def runs(files: Iterable[ParquetFile]) -> Iterator[list[ParquetFile]]:
    """The files of each run."""
    key = attrgetter("run")
    for _, found in groupby(sorted(files, key=key), key=key):
        yield list(found)
