"""Insert rows and Parquet files into the tables, inside the load's transaction.

Files are inserted in portions of whole runs, so the memory that a load needs does not depend on its size. Temporary
views over a portion's files hide the tables `steps`, `samples` and so on: copying some million rows would take more
memory than everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter

import duckdb
import pyarrow as pa

from analysis.database import schema
from analysis.database.glob_links import without_patterns
from analysis.database.overlay import Overlay, overlay
from analysis.database.rows import insert_rows
from analysis.database.sql_text import literal
from analysis.loading import parquet_files
from analysis.loading.derive import derive_runs
from analysis.loading.read_files import Incoming, ParquetFile
from bench.records.parquet_tables import PARQUET_TABLES
from bench.records.vocabulary import COMMAND

PORTION_ROWS = 4_000_000
"""Rows of one portion; a single run may have more."""
_ROWS_OF_A_FILE = 1000
"""Opening a file takes as much memory as about this many of its rows."""


def forget(connection: duckdb.DuckDBPyConnection, folders: list[str]) -> None:
    """Delete every row of the sessions in these folders."""
    if not folders:
        return
    existing = schema.existing_tables(connection)
    for table in (name for name in schema.session_tables() if name in existing):
        connection.execute(f"DELETE FROM {table} WHERE session_id IN (SELECT unnest($1))", [folders])  # noqa: S608
    connection.execute("DELETE FROM loaded_files WHERE folder IN (SELECT unnest($1))", [folders])


def insert(
    connection: duckdb.DuckDBPyConnection, incoming: Incoming, portion_rows: int = PORTION_ROWS
) -> None:
    """Insert all rows and files, and derive RUN_TABLES from it."""
    insert_json_rows(connection, incoming)
    for files in portions(incoming.files, portion_rows):
        insert_files(connection, files)
    if not incoming.files:
        derive_runs(connection)  # the first load makes these tables


def insert_json_rows(connection: duckdb.DuckDBPyConnection, incoming: Incoming) -> None:
    """Insert the rows that do not come from Parquet files."""
    for table, rows in {**incoming.rows, "loaded_files": incoming.seen}.items():
        insert_rows(connection, table, rows)
    if any(row["workload"] == COMMAND for row in incoming.rows.get("runs", [])):
        connection.execute(schema.text("scaling_of_commands"))
        connection.execute(schema.text("steps_of_commands"))


def insert_files(connection: duckdb.DuckDBPyConnection, files: Sequence[ParquetFile]) -> None:
    """Insert the files of whole runs, and derive RUN_TABLES from them."""
    with files_as_tables(connection, files) as hiding:
        for table in {file.table for file in files}:
            hiding.store(table)
        derive_files(hiding)


def derive_files(hiding: Overlay) -> None:
    """Derive RUN_TABLES from the files of an overlay of `files_as_tables`, of each run from the steps that count."""
    if hiding.connection.execute("SELECT 1 FROM runs WHERE counted_steps IS NOT NULL LIMIT 1").fetchall():
        hiding.create("VIEW", "steps", schema.text("steps_that_count"))
    derive_runs(hiding.connection)


@contextmanager
def files_as_tables(connection: duckdb.DuckDBPyConnection, files: Sequence[ParquetFile]) -> Iterator[Overlay]:
    """Hide `runs` and the tables of the Parquet files behind the rows of these runs and files."""
    with without_patterns([file.path for file in files]) as paths, overlay(connection) as hiding:
        with_path = list(zip(paths, files, strict=True))
        connection.register("incoming_files", owners(with_path))
        of_these = "SEMI JOIN incoming_files USING (session_id, run_id, attempt)"
        hiding.create("VIEW", "runs", f"FROM {hiding.stored('runs')} {of_these}")
        for table in PARQUET_TABLES:
            query = rows_query([one for one in with_path if one[1].table == table], table)
            hiding.create("VIEW", table, query or f"FROM {hiding.stored(table)} LIMIT 0")
            if table == "steps":
                hiding.create("VIEW", "steps_of_files", query or f"FROM {hiding.stored(table)} LIMIT 0")
        yield hiding
        connection.unregister("incoming_files")


def owners(files: Sequence[tuple[str, ParquetFile]]) -> pa.Table:
    """The rows of `incoming_files`: each path with the attempt that its rows belong to."""
    return pa.Table.from_pylist(
        [
            {"path": path, "session_id": file.session_id, "run_id": file.run_id, "attempt": file.attempt}
            for path, file in files
        ],
        schema=pa.schema({"path": "string", "session_id": "string", "run_id": "string", "attempt": "int32"}),
    )


def rows_query(files: Sequence[tuple[str, ParquetFile]], table: str) -> str:
    """The query for a table's rows in the files; it reads their owners from `incoming_files`. Empty without files.

    Files with the same columns are read together. A column that a file lacks is null; percent become fractions."""
    queries = []
    by_columns = sorted(files, key=lambda one: one[1].columns)
    for present, group in groupby(by_columns, key=lambda one: one[1].columns):
        columns = [
            f"{f'file.{name}' if name in present else 'NULL'}::{column.sql_type}"
            + (f" / 100 AS {column.as_fraction}" if column.as_fraction else f" AS {name}")
            for name, column in PARQUET_TABLES[table].items()
        ]
        queries.append(
            schema.text("rows_of_files").format(
                paths=f"[{', '.join(literal(path) for path, _ in group)}]",
                columns=", ".join(columns),
                path_column=parquet_files.PATH_COLUMN,
            )
        )
    return " UNION ALL ".join(queries)


def portions(files: Iterable[ParquetFile], rows: int = PORTION_ROWS) -> Iterator[list[ParquetFile]]:
    """Portions of up to `rows` rows. A portion has whole runs: deriving rows from a run needs all of its rows."""
    portion: list[ParquetFile] = []
    held = 0
    for run in by_run(files):
        more = sum(max(file.rows, _ROWS_OF_A_FILE) for file in run)
        if portion and held + more > rows:
            yield portion
            portion, held = [], 0
        portion += run
        held += more
    if portion:
        yield portion


def by_run(files: Iterable[ParquetFile]) -> Iterator[list[ParquetFile]]:
    """The files of each attempt of a run."""
    key = attrgetter("run")
    for _, group in groupby(sorted(files, key=key), key=key):
        yield list(group)
