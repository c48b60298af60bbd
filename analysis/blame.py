"""Which files DuckDB cannot take in though nothing about them is broken, found by halves: only after a load failed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from analysis import incoming, ingest
from analysis.batch import Batch, ParquetFile

_Run = tuple[str, str, int]


def find(connection: duckdb.DuckDBPyConnection, batch: Batch) -> dict[Path, str]:
    """Parquet files of the batch -> why. Of a run whose files fail only together, all of them."""
    runs: dict[_Run, list[ParquetFile]] = {}
    for file in batch.files:
        runs.setdefault((file.session_id, file.run_id, file.attempt), []).append(file)
    found: dict[Path, str] = {}
    for files in _guilty(connection, batch, list(runs.values())):
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
    owners = {(file.session_id, file.run_id, file.attempt) for file in files}
    runs = [
        row
        for row in batch.rows.get("runs", [])
        if (row["session_id"], row["run_id"], row["attempt"]) in owners
    ]
    connection.begin()
    try:
        ingest.insert_rows(connection, Batch(unreadable={}, rows={"runs": runs}))
        with incoming.of_files(connection, files) as tables:
            for table in tables:
                connection.execute(f"INSERT INTO {table} BY NAME FROM incoming_{table}")
            ingest.derive_runs(connection)
    except duckdb.DataError as error:
        return (str(error).splitlines() or ["unknown reason"])[0][:160]
    finally:
        connection.rollback()
    return None
