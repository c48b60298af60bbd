"""Rows and Parquet files into the tables, and what is derived from them. Runs inside the load's transaction."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import duckdb
import pyarrow as pa

from analysis import schema
from analysis.batch import Batch, ParquetFile
from analysis.fetched import Row
from analysis.laws import store as laws

_PATTERN = re.compile(r"[*?\[\\]")


def forget(connection: duckdb.DuckDBPyConnection, folders: list[str]) -> None:
    """Delete every row of these sessions."""
    if not folders:
        return
    for table in (
        *schema.SESSION_TABLES,
        *schema.DERIVED_TABLES,
        *schema.FITTED_TABLES,
        *schema.FOUND_TABLES,
    ):
        connection.execute(f"DELETE FROM {table} WHERE session_id IN (SELECT unnest($1))", [folders])  # noqa: S608
    connection.execute("DELETE FROM loaded_files WHERE folder IN (SELECT unnest($1))", [folders])


def insert(connection: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    """Everything in the batch."""
    for table, rows in {**batch.rows, "loaded_files": batch.ledger}.items():
        _insert_rows(connection, table, rows)
    ids = [row["session_id"] for row in batch.rows.get("sessions", [])]
    connection.execute(schema.text("ingest/incoming_sessions"), {"ids": ids})
    by_table = sorted(batch.files, key=lambda file: (file.table, file.columns))
    for (table, columns), files in groupby(by_table, key=lambda file: (file.table, file.columns)):
        _insert_files(connection, table, columns, list(files))
    derive(connection)


def derive(connection: duckdb.DuckDBPyConnection) -> None:
    """Fill the tables that follow from those of the sessions that were inserted last."""
    for table in schema.DERIVED_TABLES:
        connection.execute(schema.text(f"derived/{table}"))
    fit_laws(connection)


def fit_laws(connection: duckdb.DuckDBPyConnection) -> None:
    """From the rows of `law_points` of these sessions to those of `law_fits`."""
    _insert_rows(connection, "law_fits", laws.rows_of(connection))


def count_steps(connection: duckdb.DuckDBPyConnection) -> int:
    """Step rows of the sessions that were inserted last."""
    row = connection.execute(schema.text("ingest/count_steps")).fetchone()
    assert row
    return int(row[0])


def _insert_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: list[Row]) -> None:
    if not rows:
        return
    connection.register("incoming_rows", pa.Table.from_pylist(rows))
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming_rows")  # noqa: S608
    connection.unregister("incoming_rows")


def _insert_files(
    connection: duckdb.DuckDBPyConnection, table: str, columns: list[str], files: list[ParquetFile]
) -> None:
    """Files of one table that have the same columns."""
    statement = schema.text("ingest/parquet").format(
        table=table, columns=", ".join(f"file.{c}" for c in columns)
    )
    with _plain([file.path for file in files]) as paths:
        owners = [
            {"path": path, "session_id": f.session_id, "run_id": f.run_id, "attempt": f.attempt}
            for path, f in zip(paths, files, strict=True)
        ]
        connection.register("incoming_files", pa.Table.from_pylist(owners))
        connection.execute(statement, {"files": paths})
        connection.unregister("incoming_files")


@contextmanager
def _plain(paths: list[str]) -> Iterator[list[str]]:
    """The paths, with a link in place of each that DuckDB would take for a pattern, also in a list.

    Not every name can be escaped: `a\\b[c` cannot, nor any pattern beside a folder `\\a`."""
    if not any(map(_PATTERN.search, paths)):
        yield paths
        return
    with tempfile.TemporaryDirectory(prefix="scalebench-load-") as folder:
        found = []
        for number, path in enumerate(paths):
            link = Path(folder) / f"{number}.parquet"
            if _PATTERN.search(path):
                link.symlink_to(path)
            found.append(str(link) if link.is_symlink() else path)
        yield found
