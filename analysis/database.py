"""Opening results.duckdb: one writer, or many readers that can do nothing but read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from analysis import links, schema
from analysis.errors import NO_RESULTS, AnalysisError
from analysis.sql_words import literal
from analysis.stopping import interruptible, stoppable

FILE_NAME = "results.duckdb"
STORAGE_VERSION = "v1.1.0"
"""The oldest DuckDB that can open the file."""

OFFLINE = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}
"""No word of a file makes DuckDB fetch an extension."""
_WRITE = {"storage_compatibility_version": STORAGE_VERSION, "memory_limit": "1GB", **OFFLINE}
"""What load does in portions fits into that, whatever the size of the results; it gives more where it does not."""
LOCKED = {
    "enable_external_access": "false",
    **OFFLINE,
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
"""A query sees the database and nothing else: no file, no extension, no variable of this process, no setting."""
BOUNDED = {"memory_limit": "50%", "max_temp_directory_size": "64GiB"}
"""Of what this machine or its control group has; a query that needs more goes on in files beside the database."""


_DAMAGED = re.compile(
    r"not a valid DuckDB|version number|[Cc]orrupt|checksum|WAL file|read enough bytes|[Ss]erializ|INTERNAL|FATAL"
)
"""In what DuckDB says of a file that is not as it wrote it."""
_LOCKED = re.compile(r"Could not set lock on file(?:.*Conflicting lock is held in .*PID (?P<holder>-?\d+))?")
"""In what it says of one that another process has open."""
_QUOTED = re.compile(r"""(?<!\w)(["']).*?\1""")
"""Text in a message; an apostrophe within a word begins none."""


def database_path(results: Path) -> Path:
    return results / FILE_NAME


@contextmanager
def reader(results: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that only reads. Raises AnalysisError where there is no database, it is in use, or its views are
    not today's: their answers would not be what the docs say."""
    path = database_path(results)
    if not path.is_file():
        if not results.is_dir():
            raise AnalysisError(f"{results}: {NO_RESULTS}")
        raise AnalysisError(
            f"{path}: there is no database: `bench load {results}` makes it from the result files"
        )
    connection = _connect(path, read_only=True, config=LOCKED | BOUNDED)
    try:
        with stoppable(connection):
            definitions = _definitions(connection, path)
            if definitions is None:
                raise AnalysisError(
                    f"{path}: holds nothing: its first load did not come to an end: `bench load {results}` fills it"
                )
            if definitions != schema.digest():
                raise AnalysisError(
                    f"{path}: its tables and views are those of another version of scalebench: `bench load {results}` "
                    "makes them anew from the result files"
                )
            yield connection
    finally:
        connection.close()


@contextmanager
def writer(results: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database with today's definitions, made anew where there is none or an older one."""
    path = database_path(results)
    if "?" in str(path.resolve()):
        raise AnalysisError(
            f"{path}: DuckDB cannot write below a folder with a question mark in its name: rename it"
        )
    connection = _open_or_make(path)
    try:
        with interruptible():
            _confine(connection, results)
            definitions = _definitions(connection, path)
            if definitions is not None and definitions != schema.digest():
                connection.close()
                _remove(path)
                connection = _open_or_make(path)
                _confine(connection, results)
            if definitions != schema.digest():
                with transaction(connection):
                    schema.create(connection)
            yield connection
    except duckdb.Error as error:
        raise AnalysisError(_unwritable(path, str(error))) from error
    finally:
        connection.close()


def _confine(connection: duckdb.DuckDBPyConnection, results: Path) -> None:
    """Of a database that somebody sent, views may read any file: from here on none but result files, and the links
    that stand for some of them."""
    folders = {str(folder) for folder in (results, results.absolute(), results.resolve(), links.folder())}
    connection.execute(f"SET allowed_directories = [{', '.join(map(literal, sorted(folders)))}]")
    connection.execute("SET enable_external_access = false")


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All or nothing."""
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _open_or_make(path: Path) -> duckdb.DuckDBPyConnection:
    """To write. A new file for which there is no room is removed: it would be taken for a damaged one."""
    is_new = not path.exists()
    try:
        return _connect(path, read_only=False, config=_WRITE)
    except AnalysisError as error:
        if is_new and not _LOCKED.search(_words(path, str(error.__cause__))):
            path.unlink(missing_ok=True)
        raise


def _connect(path: Path, *, read_only: bool, config: dict[str, str]) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(path, read_only=read_only, config=dict(config))
    except duckdb.Error as error:
        raise AnalysisError(_explain(path, str(error))) from error


def _explain(path: Path, message: str) -> str:
    """DuckDB's reason for not opening a file, in our words."""
    words = _words(path, message)
    if (locked := _LOCKED.search(words)) and locked["holder"]:
        return (
            f"{path}: in use by process {locked['holder']}: while one process writes the database no other can open "
            "it, and while one reads it none can write. Close that process or wait for it"
        )
    if _DAMAGED.search(words):
        return (
            f"{path}: not a database that this DuckDB ({duckdb.__version__}) can read. Move it away; `bench load` "
            "makes it anew from the result files"
        )
    first_line = message.splitlines()[0] if message else "unknown reason"
    if "Read-only file system" in words or "Permission denied" in words:
        first_line += ". Copy the results folder to where you may write, and `bench load` it there"
    return f"{path}: cannot be opened: {first_line}"


def _unwritable(path: Path, message: str) -> str:
    """The same for a load that it ended."""
    if _DAMAGED.search(_words(path, message)):
        return _explain(path, message)
    if "Cannot access file" in message:
        return (
            f"{path}: a view of it reads other files, so it is not as scalebench made it. Move it away; `bench load` "
            "makes it anew from the result files"
        )
    return (
        f"{path}: cannot be written: {message.splitlines()[0]}. The result files are safe: repeat `bench load` once "
        "that is mended"
    )


def _words(path: Path, message: str) -> str:
    """DuckDB's own: without what it quotes, first of all the path, which may hold any word."""
    for known in sorted({str(path), str(path.absolute()), str(path.resolve())}, key=len, reverse=True):
        message = message.replace(known, "")
    return _QUOTED.sub("", message)


def _definitions(connection: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """Which definitions made the tables; null where there are none. Raises AnalysisError where they are others'."""
    tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if not tables:
        return None
    if "database_info" not in tables:
        raise AnalysisError(
            f"{path}: holds other tables than scalebench's ({', '.join(sorted(tables)[:3])}): move it away, or give "
            "another results folder"
        )
    found = connection.execute("SELECT definitions FROM database_info").fetchall()
    return str(found[0][0]) if found else ""


def _remove(path: Path) -> None:
    path.unlink()
    path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
