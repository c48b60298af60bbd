"""Which files DuckDB cannot take in: asked only after it failed, since a load must not read every file twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from analysis import chunks, ingest, parquet
from analysis.batch import Batch, ParquetFile
from analysis.discover import SessionFolder


def unreadable(folders: Sequence[SessionFolder], known: Mapping[Path, str]) -> dict[Path, str]:
    """Files whose rows cannot be read, beyond those that are known -> why. A footer can be whole and a page broken."""
    paths = [entry.path for folder in folders for attempt in folder.attempts for entry in attempt.parquet]
    reasons = {path: parquet.unreadable(path) for path in paths if path not in known}
    return {path: reason for path, reason in reasons.items() if reason}


def unstorable(connection: duckdb.DuckDBPyConnection, batch: Batch) -> dict[Path, str]:
    """Files that are whole, and whose values cannot be stored, found by halves -> why. Of a run whose files fail only
    together, all of them."""
    found: dict[Path, str] = {}
    for files in _guilty(connection, batch, list(chunks.runs(batch.files))):
        alone = _guilty(connection, batch, [[file] for file in files])
        for file in [file for one in alone for file in one] or files:
            reason = _failure(connection, batch, [file]) or _failure(connection, batch, files)
            found[Path(file.path)] = f"its values cannot be stored ({reason}): remove it or run it again"
    return found


def _guilty(
    connection: duckdb.DuckDBPyConnection, batch: Batch, groups: Sequence[list[ParquetFile]]
) -> list[list[ParquetFile]]:
    """Those of which each fails by itself."""
    if not groups or _failure(connection, batch, [file for files in groups for file in files]) is None:
        return []
    if len(groups) == 1:
        return list(groups)
    middle = len(groups) // 2
    return [
        *_guilty(connection, batch, groups[:middle]),
        *_guilty(connection, batch, groups[middle:]),
    ]


def _failure(connection: duckdb.DuckDBPyConnection, batch: Batch, files: Sequence[ParquetFile]) -> str | None:
    """Why the rows of these cannot be stored, or what is derived of them; nothing is kept of the attempt."""
    owners = {file.run for file in files}
    runs = [
        row
        for row in batch.rows.get("runs", [])
        if (row["session_id"], row["run_id"], row["attempt"]) in owners
    ]
    connection.begin()
    try:
        ingest.insert_rows(connection, Batch(unreadable={}, rows={"runs": runs}))
        ingest.insert_files(connection, files)
    except duckdb.DataError as error:
        return (str(error).splitlines() or ["unknown reason"])[0][:160]
    finally:
        connection.rollback()
    return None
