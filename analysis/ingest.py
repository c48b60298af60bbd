"""Rows and Parquet files into the tables, and what is derived from them. Runs inside the load's transaction."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from analysis import chunks, focus, incoming, schema
from analysis.batch import Batch, ParquetFile
from analysis.fetched import Row
from analysis.laws import store as laws


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


def insert(connection: duckdb.DuckDBPyConnection, batch: Batch, rows_at_once: int = chunks.ROWS) -> None:
    """Everything in the batch."""
    insert_rows(connection, batch)
    for files in chunks.of_whole_runs(batch.files, rows_at_once):
        insert_files(connection, files)
    derive_sessions(connection)


def insert_rows(connection: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    """What of it is in no Parquet file."""
    for table, rows in {**batch.rows, "loaded_files": batch.ledger}.items():
        _insert_rows(connection, table, rows)
    ids = [row["session_id"] for row in batch.rows.get("sessions", [])]
    connection.execute(schema.text("ingest/incoming_sessions"), {"ids": ids})


def insert_files(connection: duckdb.DuckDBPyConnection, files: Sequence[ParquetFile]) -> None:
    """The rows of whole runs, and what is derived of them."""
    with incoming.of_files(connection, files) as tables:
        for table in tables:
            connection.execute(f"INSERT INTO {table} BY NAME FROM incoming_{table}")
        derive_runs(connection)


def derive(connection: duckdb.DuckDBPyConnection) -> None:
    """Fill the tables that follow from rows that the sessions of `incoming_sessions` have in the tables."""
    incoming.of_sessions(connection)
    derive_runs(connection)
    derive_sessions(connection)


def derive_runs(connection: duckdb.DuckDBPyConnection) -> None:
    """From the incoming rows, which are those of whole runs."""
    for table in schema.RUN_TABLES:
        name = f"incoming_{table}"
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {schema.text(f'derived/{table}')}")
        connection.execute(f"INSERT INTO {table} BY NAME FROM {name}")
    for table in schema.RUN_TABLES:
        connection.execute(f"DROP TABLE incoming_{table}")


def derive_sessions(connection: duckdb.DuckDBPyConnection) -> None:
    """From all rows of the sessions of `incoming_sessions`, as if there were no others."""
    found = connection.execute("SELECT session_id FROM incoming_sessions ORDER BY session_id").fetchall()
    (database,) = connection.execute("SELECT current_database()").fetchone() or ("",)
    with focus.on(connection, [name for (name,) in found]), focus.made(connection, _DERIVED_FROM):
        for table in schema.DERIVED_TABLES[len(schema.RUN_TABLES) :]:
            rows = schema.text(f"derived/{table}")
            connection.execute(f'INSERT INTO "{database}".main.{table} BY NAME {rows}')
    fit_laws(connection)


_DERIVED_FROM = ("run_summary", "placements", "scaling")
"""Views that are read by several."""


def fit_laws(connection: duckdb.DuckDBPyConnection) -> None:
    """From the rows of `law_points` of these sessions to those of `law_fits`."""
    _insert_rows(connection, "law_fits", laws.rows_of(connection))


def _insert_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: list[Row]) -> None:
    if not rows:
        return
    connection.register("incoming_rows", pa.Table.from_pylist(rows))
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming_rows")  # noqa: S608
    connection.unregister("incoming_rows")
