"""Rows and Parquet files into the tables, and what is derived from them. Runs inside the load's transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import duckdb
import pyarrow as pa

from analysis import chunks, diagnose, incoming, schema
from analysis.batch import Batch, ParquetFile
from analysis.fetched import Row
from analysis.laws import store as laws
from analysis.rules import Rule
from analysis.shadows import shadows


def forget(connection: duckdb.DuckDBPyConnection, folders: list[str]) -> None:
    """Delete every row of these sessions."""
    if not folders:
        return
    for table in schema.session_tables():
        connection.execute(f"DELETE FROM {table} WHERE session_id IN (SELECT unnest($1))", [folders])  # noqa: S608
    connection.execute("DELETE FROM loaded_files WHERE folder IN (SELECT unnest($1))", [folders])


def insert(
    connection: duckdb.DuckDBPyConnection,
    batch: Batch,
    rules: Sequence[Rule] = (),
    rows_at_once: int = chunks.ROWS,
) -> None:
    """Everything in the batch, and what these rules find."""
    insert_rows(connection, batch)
    for files in chunks.of_whole_runs(batch.files, rows_at_once):
        insert_files(connection, files)
    derive_sessions(connection, batch.sessions(), rules)


def insert_rows(connection: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    """What of it is in no Parquet file."""
    for table, rows in {**batch.rows, "loaded_files": batch.ledger}.items():
        _insert_rows(connection, table, rows)


def insert_files(connection: duckdb.DuckDBPyConnection, files: Sequence[ParquetFile]) -> None:
    """The rows of whole runs, and what is derived of them."""
    with incoming.of_files(connection, files) as found:
        for table in {file.table for file in files}:
            found.store(table)
        derive_runs(connection)


def derive_runs(connection: duckdb.DuckDBPyConnection) -> None:
    """From the rows that stand before the tables, which are those of whole runs."""
    with shadows(connection) as found:
        for table in schema.RUN_TABLES:
            found.lay("TABLE", table, schema.text(table))
            found.store(table)


def derive_sessions(
    connection: duckdb.DuckDBPyConnection,
    sessions: Sequence[str],
    rules: Sequence[Rule] = (),
    wanted: Collection[str] | None = None,
) -> None:
    """From all rows of these sessions, as if there were no others, and what these rules find in them; rules that
    compare sessions are asked of all. With `wanted` only the tables that these tables and views read."""
    tables = schema.derived_of_sessions()
    if wanted is not None:
        needed = schema.reached_from(wanted)
        tables = [table for table in tables if table in needed]
    if sessions:
        with shadows(connection) as found:
            found.lay_sessions(sessions)
            for table in tables:
                if table == schema.FITTED_TABLE:
                    found.lay("TABLE", table, f"FROM {found.stored(table)} LIMIT 0")
                    fit_laws(connection)
                else:
                    found.lay("TABLE", table, schema.text(table))
                found.store(table)
            for rule in rules:
                if not diagnose.compares_sessions(rule):
                    diagnose.ask(connection, rule, found.stored(schema.FOUND_TABLE))
    for rule in rules:
        if diagnose.compares_sessions(rule):
            diagnose.ask_again(connection, rule)


def fit_laws(connection: duckdb.DuckDBPyConnection) -> None:
    """From the rows of `law_points` to those of `law_fits`."""
    _insert_rows(connection, schema.FITTED_TABLE, laws.rows_of(connection))


def derive(connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule] = ()) -> None:
    """Delete all derived rows and findings, and derive them again from the rows of SESSION_TABLES."""
    for table in (*schema.derived(), schema.FOUND_TABLE):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608
    derive_runs(connection)
    found = connection.execute("SELECT session_id FROM sessions ORDER BY session_id").fetchall()
    derive_sessions(connection, [name for (name,) in found], rules)


def _insert_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: list[Row]) -> None:
    if not rows:
        return
    connection.register("incoming_rows", pa.Table.from_pylist(rows))
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming_rows")  # noqa: S608
    connection.unregister("incoming_rows")
