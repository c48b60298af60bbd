"""Query the result files without a database: the same tables and views, but raw rows stay in their files.

This is for results that are too large to load, or folders that cannot be written. Raw tables are views over the checked
files; the derived tables that the query reads are made in memory."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from analysis.database import connections, schema
from analysis.database.glob_links import without_patterns
from analysis.database.interrupt import stoppable, temporary
from analysis.database.sql_text import literal
from analysis.errors import AnalysisError
from analysis.loading import find_bad_files, insert, read_files
from analysis.loading.derive import derive_and_diagnose
from analysis.loading.json_files import BadFileError, read_json
from analysis.loading.load import Problem, problems_of_files
from analysis.loading.scan import SessionFolder, discover
from analysis.sql import choose_session
from bench.records.parquet_tables import PARQUET_TABLES

_WORD = re.compile(r"\w+")
_CATALOGUE = re.compile(r"query|query_table|show|describe|information_schema|sqlite_master|pg_\w+|duckdb_\w+")
"""Words of a query that may read tables without naming them."""
_QUERY_ERRORS = (duckdb.ProgrammingError, duckdb.PermissionException, duckdb.OutOfMemoryException)
"""Errors that are not caused by a file."""
_AFTER_FILES = ("enable_external_access", "lock_configuration")
_SETTINGS = {
    **{name: value for name, value in connections.LOCKED.items() if name not in _AFTER_FILES},
    **connections.BOUNDED,
}
"""Settings that hold before the files are known."""


@dataclass(frozen=True, kw_only=True)
class SessionFilter:
    """The sessions to read; if empty, all."""

    sessions: Sequence[str] = ()
    """Ids, prefixes of ids, or other names by bench/records/session_names.py."""
    suites: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class OpenFiles:
    """Result files that can be queried."""

    connection: duckdb.DuckDBPyConnection
    """It can read these files and nothing else."""
    problems: tuple[Problem, ...]
    """Files that were left out."""


@contextmanager
def reader(results: Path, query: str, only: SessionFilter) -> Iterator[OpenFiles]:
    """Open the files for one query. Raises AnalysisError if the folder cannot be read or has no such session."""
    folders = _matching(discover(results), only)
    with ExitStack() as stack:
        connection = _open(stack, folders, query)
        try:
            with stoppable(connection):
                yield OpenFiles(connection=connection, problems=tuple(problems_of_files(connection)))
        except AnalysisError as error:
            if not isinstance(error.__cause__, duckdb.Error) or isinstance(error.__cause__, _QUERY_ERRORS):
                raise
            if not (bad := find_bad_files.unreadable(folders, {})):
                raise
            listed = "\n  ".join(f"{path}: {reason}" for path, reason in bad.items())
            raise AnalysisError(f"the query reads rows that cannot be read:\n  {listed}") from error


def _open(stack: ExitStack, folders: list[SessionFolder], query: str) -> duckdb.DuckDBPyConnection:
    """A connection that lives as long as `stack`. Files that turn out to be unreadable are left out."""
    bad: dict[Path, str] = {}
    while True:
        with ExitStack() as tried:
            spilled = tried.enter_context(tempfile.TemporaryDirectory(prefix="scalebench-sql-"))
            tried.enter_context(temporary(Path(spilled)))
            connection = tried.enter_context(duckdb.connect(config={**_SETTINGS, "temp_directory": spilled}))
            try:
                with stoppable(connection):
                    _fill(connection, read_files.read(folders, bad), query, tried)
            except duckdb.Error as error:
                if not (found := find_bad_files.unreadable(folders, bad)):
                    raise AnalysisError(f"the result files cannot be read: {error}") from error
                bad |= found
                continue
            stack.push(tried.pop_all())
            return connection


def _fill(
    connection: duckdb.DuckDBPyConnection, incoming: read_files.Incoming, query: str, stack: ExitStack
) -> None:
    """Make the tables and views, as far as the query reads them, then forbid everything else."""
    paths = stack.enter_context(without_patterns([file.path for file in incoming.files]))
    schema.create(connection)
    _create_file_views(connection, list(zip(paths, incoming.files, strict=True)))
    insert.insert_json_rows(connection, incoming)
    read = tables_read(query)
    derived = schema.derived()
    if schema.FOUND_TABLE in read:
        read |= {*derived}
    if not read.isdisjoint(schema.RUN_TABLES):
        read |= {*schema.RUN_TABLES}
        for files in insert.portions(incoming.files):
            with insert.files_as_tables(connection, files) as hiding:
                insert.derive_files(hiding)
    rules = schema.shipped_rules() if schema.FOUND_TABLE in read else ()
    derive_and_diagnose(connection, incoming.sessions(), rules, wanted=read)
    # A query that reads another table without naming it gets an error instead of an empty table.
    for table in (*derived, schema.FOUND_TABLE):
        if table not in read:
            connection.execute(f"DROP TABLE {table}")
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
    for name, value in connections.LOCKED.items():
        connection.execute(f"SET {name} = {value}")


def _create_file_views(
    connection: duckdb.DuckDBPyConnection, files: list[tuple[str, read_files.ParquetFile]]
) -> None:
    """Replace each table that load fills from Parquet files by a view over the files."""
    if not files:
        return
    connection.register("owners", insert.owners(files))
    connection.execute("CREATE TABLE incoming_files AS FROM owners")
    connection.unregister("owners")
    for table in PARQUET_TABLES:
        if of_table := [one for one in files if one[1].table == table]:
            connection.execute(f"DROP TABLE {table}")
            connection.execute(f"CREATE VIEW {table} AS {insert.rows_query(of_table, table)}")


def tables_read(query: str) -> set[str]:
    """Names that a query may read, directly or through views. Every word of it counts, so there may be too many."""
    words = {word.lower() for word in _WORD.findall(query)}
    if any(_CATALOGUE.fullmatch(word) for word in words):
        return {*schema.derived(), schema.FOUND_TABLE}
    return schema.reached_from(words)


def _matching(folders: list[SessionFolder], only: SessionFilter) -> list[SessionFolder]:
    """Raises AnalysisError if a session or suite does not exist."""
    wanted = {session_id for name in only.sessions for session_id in _ids(name, folders)}
    named = [one for one in folders if not only.sessions or one.name in wanted]
    found = [one for one in named if not only.suites or _suite(one) in only.suites]
    if only.suites and not found:
        raise choose_session.unknown_suite(only.suites[0], map(_suite, reversed(folders)))
    return found


def _ids(name: str, folders: list[SessionFolder]) -> list[str]:
    """The sessions that `name` names; the beginning of ids names all of them here. Raises AnalysisError."""
    begin_so = [folder.name for folder in folders if folder.name.startswith(name)]
    if begin_so:
        return begin_so
    heads = [(str(_head(folder).get("created_at", "")), folder) for folder in folders]
    newest_first = [
        folder for _, folder in sorted(heads, key=lambda one: (one[0], one[1].name), reverse=True)
    ]
    return choose_session.named(
        name, {folder.name: list(map(str, _head(folder).get("tags") or [])) for folder in newest_first}
    )


def _suite(folder: SessionFolder) -> str | None:
    """The suite of a session; None without a usable session.json."""
    suite = _head(folder).get("suite")
    return suite if isinstance(suite, str) else None


def _head(folder: SessionFolder) -> Mapping[str, Any]:
    """The content of session.json; empty if it cannot be used."""
    if folder.session_json is None:
        return {}
    try:
        return read_json(folder.session_json.path).value
    except BadFileError:
        return {}
