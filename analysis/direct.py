"""The same tables and views straight over the result files: no database is made, and raw rows stay in their files.

For folders that are too large to be loaded, or that cannot be written. What load derives from raw rows is derived in
memory, where a query reads it; raw tables are views over the checked files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analysis import batch, blame, chunks, database, incoming, ingest, schema
from analysis.discover import SessionFolder, discover
from analysis.errors import AnalysisError
from analysis.fields import BadFileError, read_json
from analysis.load import Problem, problems
from analysis.sql_words import literal
from analysis.stopping import stoppable, temporary

_WORD = re.compile(r"\w+")
_CATALOGUE = re.compile(r"query|query_table|show|describe|information_schema|sqlite_master|pg_\w+|duckdb_\w+")
"""Words of a query that may read what it does not name."""
_OF_THE_QUERY = (duckdb.ProgrammingError, duckdb.PermissionException, duckdb.OutOfMemoryException)
"""What no file is to blame for."""
_WITH_FILES = ("enable_external_access", "lock_configuration")
_SETTINGS = {
    **{name: value for name, value in database.LOCKED.items() if name not in _WITH_FILES},
    **database.BOUNDED,
}
"""Until the files are known."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Which sessions are read; empty means all."""

    sessions: Sequence[str] = ()
    """Ids, or how they begin."""
    suites: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Direct:
    """Result files that can be asked."""

    connection: duckdb.DuckDBPyConnection
    """Reads these files, and nothing else."""
    problems: tuple[Problem, ...]


@contextmanager
def reader(results: Path, query: str, chosen: Chosen) -> Iterator[Direct]:
    """For one query. Raises AnalysisError where the folder cannot be read, or holds nothing that was chosen."""
    folders = _choose(discover(results), chosen)
    with ExitStack() as opened:
        connection = _open(opened, folders, query)
        try:
            with stoppable(connection):
                yield Direct(connection=connection, problems=problems(connection))
        except AnalysisError as error:
            if not isinstance(error.__cause__, duckdb.Error) or isinstance(error.__cause__, _OF_THE_QUERY):
                raise
            if not (found := blame.unreadable(folders, {})):
                raise
            told = "\n  ".join(f"{path}: {reason}" for path, reason in found.items())
            raise AnalysisError(f"the query reads rows that cannot be read:\n  {told}") from error


def _open(opened: ExitStack, folders: list[SessionFolder], query: str) -> duckdb.DuckDBPyConnection:
    """A connection that lives as long as `opened`. What turns out not to be readable is left out."""
    unreadable: dict[Path, str] = {}
    while True:
        with ExitStack() as tried:
            spilled = tried.enter_context(tempfile.TemporaryDirectory(prefix="scalebench-sql-"))
            tried.enter_context(temporary(Path(spilled)))
            connection = tried.enter_context(duckdb.connect(config={**_SETTINGS, "temp_directory": spilled}))
            try:
                with stoppable(connection):
                    _fill(connection, batch.read(folders, unreadable), query, tried)
            except duckdb.Error as error:
                if not (found := blame.unreadable(folders, unreadable)):
                    raise AnalysisError(f"the result files cannot be read: {error}") from error
                unreadable |= found
                continue
            opened.push(tried.pop_all())
            return connection


def _fill(connection: duckdb.DuckDBPyConnection, found: batch.Batch, query: str, opened: ExitStack) -> None:
    paths = opened.enter_context(incoming.plain([file.path for file in found.files]))
    schema.create(connection)
    _lay_views(connection, list(zip(paths, found.files, strict=True)))
    ingest.insert_rows(connection, found)
    read = tables_read(query)
    derived = schema.derived()
    if schema.FOUND_TABLE in read:
        read |= {*derived}
    if not read.isdisjoint(schema.RUN_TABLES):
        read |= {*schema.RUN_TABLES}
        for files in chunks.of_whole_runs(found.files, chunks.ROWS):
            with incoming.of_files(connection, files):
                ingest.derive_runs(connection)
    rules = schema.shipped_rules() if schema.FOUND_TABLE in read else ()
    ingest.derive_sessions(connection, found.sessions(), rules, wanted=read)
    # A query that reads another table without naming it gets an error instead of an empty table.
    for table in (*derived, schema.FOUND_TABLE):
        if table not in read:
            connection.execute(f"DROP TABLE {table}")
    _lock(connection, paths)


def _lay_views(connection: duckdb.DuckDBPyConnection, named: list[tuple[str, batch.ParquetFile]]) -> None:
    """In place of each table that load fills from Parquet files, a view over them."""
    if not named:
        return
    connection.register("owners", incoming.owners(named))
    connection.execute("CREATE TABLE incoming_files AS FROM owners")
    connection.unregister("owners")
    for table in schema.PARQUET_TABLES:
        if files := [one for one in named if one[1].table == table]:
            connection.execute(f"DROP TABLE {table}")
            connection.execute(f"CREATE VIEW {table} AS {incoming.rows_of(files, table)}")


def _lock(connection: duckdb.DuckDBPyConnection, paths: list[str]) -> None:
    """These files can be read from here on, and nothing else."""
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
    for name, value in database.LOCKED.items():
        connection.execute(f"SET {name} = {value}")


def tables_read(query: str) -> set[str]:
    """Names of what a query may read, also by way of views. Its words say so, and may say too much."""
    words = {word.lower() for word in _WORD.findall(query)}
    if any(_CATALOGUE.fullmatch(word) for word in words):
        return {*schema.derived(), schema.FOUND_TABLE}
    return schema.reached_from(words)


def _choose(folders: list[SessionFolder], chosen: Chosen) -> list[SessionFolder]:
    """Raises AnalysisError where a name is nobody's."""
    for name in chosen.sessions:
        if not any(folder.name.startswith(name) for folder in folders):
            raise AnalysisError(f"no session {name!r} among the {len(folders):,} of this results folder")
    of_name = [one for one in folders if not chosen.sessions or one.name.startswith(tuple(chosen.sessions))]
    found = [one for one in of_name if not chosen.suites or _suite(one) in chosen.suites]
    if chosen.suites and not found:
        raise AnalysisError(f"no session of the suite {' or '.join(chosen.suites)} is there")
    return found


def _suite(folder: SessionFolder) -> str | None:
    """Null where no usable session.json says it."""
    if folder.session_json is None:
        return None
    try:
        suite = read_json(folder.session_json.path).value.get("suite")
    except BadFileError:
        return None
    return suite if isinstance(suite, str) else None
