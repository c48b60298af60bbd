"""Find the files that make a load fail. It runs only after a failure, so that a load need not read every file twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import duckdb

from analysis.database import schema
from analysis.loading import insert, parquet_files, read_files
from analysis.loading.derive import derive_and_diagnose
from analysis.loading.read_files import Incoming, ParquetFile
from analysis.loading.scan import SessionFolder

T = TypeVar("T")


def unreadable(folders: Sequence[SessionFolder], known_bad: Mapping[Path, str]) -> dict[Path, str]:
    """Files with an intact footer whose rows cannot be read -> why."""
    paths = [Path(file.path) for file in read_files.read(list(folders), known_bad).files]
    reasons = {path: parquet_files.unreadable(path) for path in paths}
    return {path: reason for path, reason in reasons.items() if reason}


def unstorable(
    connection: duckdb.DuckDBPyConnection, folders: Sequence[SessionFolder], known_bad: Mapping[Path, str]
) -> dict[Path, str]:
    """Readable files whose values cannot be stored -> why. If the files of a run fail only together, all of them.

    If every run can be stored: the folders of sessions for which deriving tables fails -> why."""
    incoming = read_files.read(list(folders), known_bad)

    def store(files: Sequence[ParquetFile]) -> str | None:
        keys = {file.run for file in files}
        runs = [
            row
            for row in incoming.rows.get("runs", [])
            if (row["session_id"], row["run_id"], row["attempt"]) in keys
        ]

        def insert_them() -> None:
            insert.insert_json_rows(connection, Incoming(known_bad={}, rows={"runs": runs}))
            insert.insert_files(connection, files)

        return _failure(connection, insert_them)

    bad: dict[Path, str] = {}
    runs = list(insert.by_run(incoming.files))
    for run in _failing(runs, lambda some: store([file for files in some for file in files])):
        alone = _failing(run, store)
        for file in alone or run:
            reason = store([file]) or store(run)
            bad[Path(file.path)] = f"its values cannot be stored ({reason}): remove it or run it again"
    return bad or _not_derivable(connection, folders, known_bad)


def _not_derivable(
    connection: duckdb.DuckDBPyConnection, folders: Sequence[SessionFolder], known_bad: Mapping[Path, str]
) -> dict[Path, str]:
    def load(some: Sequence[SessionFolder]) -> str | None:
        def load_them() -> None:
            insert.forget(connection, [folder.name for folder in some])
            incoming = read_files.read(list(some), known_bad)
            insert.insert(connection, incoming)
            derive_and_diagnose(connection, incoming.sessions(), schema.shipped_rules())

        return _failure(connection, load_them)

    return {
        folder.place.path: f"nothing can be derived from its rows ({load([folder])}): move the folder away, or run the "
        "session again"
        for folder in _failing(folders, load)
    }


def _failing(items: Sequence[T], failure: Callable[[Sequence[T]], str | None]) -> list[T]:
    """The items that fail alone, found by bisection."""
    if not items or failure(items) is None:
        return []
    if len(items) == 1:
        return list(items)
    middle = len(items) // 2
    return [*_failing(items[:middle], failure), *_failing(items[middle:], failure)]


def _failure(connection: duckdb.DuckDBPyConnection, attempt: Callable[[], None]) -> str | None:
    """Why DuckDB cannot store what the attempt inserts; None if it can. The attempt is always rolled back."""
    connection.begin()
    try:
        attempt()
    except duckdb.DataError as error:
        return (str(error).splitlines() or ["unknown reason"])[0][:160]
    finally:
        connection.rollback()
    return None
