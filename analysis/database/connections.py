"""Open results.duckdb for one writer, or for many readers that can only read."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import duckdb

from analysis.database import glob_links, schema
from analysis.database.interrupt import interruptible, stoppable
from analysis.database.sql_text import literal
from analysis.errors import NO_RESULTS, AnalysisError

FILE_NAME = "results.duckdb"
STORAGE_VERSION = "v1.1.0"
"""The oldest DuckDB that can read the file."""


def half_of_memory() -> str:
    """Half of the memory of the machine or control group. DuckDB before 2.0 takes no share, but by default 80 %."""
    if int(duckdb.__version__.split(".")[0]) >= 2:
        return "50%"
    with duckdb.connect() as connection:
        limit = str(connection.sql("SELECT current_setting('memory_limit')").fetchall()[0][0])
    number, unit = limit.split()
    return f"{float(number) * 5 / 8:.1f} {unit}"


OFFLINE = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}
"""DuckDB fetches no extension, even if a file or query asks for one."""
_WRITE = {
    "storage_compatibility_version": STORAGE_VERSION,
    "memory_limit": "1GB",
    "disabled_compression_methods": "fsst",
    "default_block_size": "65536",
    **OFFLINE,
}
"""Load works in portions that fit into this memory limit; it lifts the limit if one run alone does not fit. FSST would
compress texts that rarely repeat. There are few, and trying it on every column is two fifths of the work of closing.
Most tables have few rows: blocks of a quarter of DuckDB's size halve a small file, and closing takes a fifth less."""
LOCKED = {
    "enable_external_access": "false",
    **OFFLINE,
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
"""A query reads the database and nothing else: no file, extension, setting or variable of this process."""
BOUNDED = {"memory_limit": half_of_memory(), "max_temp_directory_size": "64GiB"}
"""A query that needs more spills to files next to
the database."""

_DAMAGED = re.compile(
    r"not a valid DuckDB|version number|[Cc]orrupt|checksum|WAL file|read enough bytes|[Ss]erializ|INTERNAL|FATAL"
)
"""Words in DuckDB's messages about a file that is damaged or from another version."""
_LOCKED = re.compile(r"Could not set lock on file(?:.*Conflicting lock is held in .*PID (?P<holder>-?\d+))?")
"""DuckDB's message about a file that another process has open."""
_PAUSE_S, _MOST_S = 0.1, 600.0
"""Time between two tries to open a database that is in use, and the most time for all of them."""
_QUOTED = re.compile(r"""(?<!\w)(["']).*?\1""")
"""Quoted text in a message; an apostrophe inside a word starts no quotation."""


def database_path(results: Path) -> Path:
    return results / FILE_NAME


@contextmanager
def reader(results: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that can only read.

    Raises AnalysisError if there is no database, if it is in use, or if another version of scalebench made its views:
    they would not match the docs."""
    path = database_path(results)
    load = shlex.join(["bench", "load", str(results)])
    if not path.is_file():
        if not results.is_dir():
            raise AnalysisError(f"{results}: {NO_RESULTS}")
        raise AnalysisError(f"{path}: there is no database: `{load}` makes it from the result files")
    connection = _connect(path, read_only=True, config=LOCKED | BOUNDED)
    try:
        with stoppable(connection):
            definitions = _definitions(connection, path)
            if not definitions:
                raise AnalysisError(
                    f"{path}: holds nothing, because its first load was interrupted: `{load}` fills it"
                )
            if definitions != schema.digest():
                raise AnalysisError(
                    f"{path}: another version of scalebench made its tables and views: `{load}` rebuilds them from the "
                    "result files"
                )
            yield connection
    finally:
        connection.close()


@contextmanager
def writer(
    results: Path, create: Callable[[duckdb.DuckDBPyConnection], None] = schema.create
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database with today's definitions; an older database is replaced by an empty one.

    `create` makes the tables of an empty database. Raises AnalysisError if the database cannot be opened or written."""
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
                path.unlink()
                path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
                connection = _open_or_make(path)
                _confine(connection, results)
            if definitions != schema.digest():
                with transaction(connection):
                    create(connection)
            yield connection
    except duckdb.Error as error:
        raise AnalysisError(_explain_failed_write(path, str(error))) from error
    finally:
        connection.close()


def _confine(connection: duckdb.DuckDBPyConnection, results: Path) -> None:
    """Allow access to the result files and the links to them only: in a database from another person, views may try to
    read any file."""
    folders = {
        str(folder) for folder in (results, results.absolute(), results.resolve(), glob_links.links_folder())
    }
    connection.execute(f"SET allowed_directories = [{', '.join(map(literal, sorted(folders)))}]")
    connection.execute("SET enable_external_access = false")


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit at the end of the block; roll back if it raises."""
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _open_or_make(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection that writes. If the disk is full, a new file is removed: it would look damaged later."""
    is_new = not path.exists()
    try:
        return _connect(path, read_only=False, config=_WRITE)
    except AnalysisError as error:
        if is_new and not _LOCKED.search(_without_quotes(path, str(error.__cause__))):
            path.unlink(missing_ok=True)
        raise


_is_brief: ContextVar[Callable[[int], bool]] = ContextVar("_is_brief", default=lambda _: False)


@contextmanager
def waiting_for(is_brief: Callable[[int], bool]) -> Iterator[None]:
    """Within the block, a database that another process uses is waited for, at most ten minutes, while `is_brief` says
    of its id that it will end soon. Any other program may keep the database open for hours."""
    before = _is_brief.set(is_brief)
    try:
        yield
    finally:
        _is_brief.reset(before)


def _connect(path: Path, *, read_only: bool, config: dict[str, str]) -> duckdb.DuckDBPyConnection:
    last_s, is_brief = time.monotonic() + _MOST_S, _is_brief.get()
    while True:
        try:
            return duckdb.connect(path, read_only=read_only, config=dict(config))
        except duckdb.Error as error:
            locked = _LOCKED.search(_without_quotes(path, str(error)))
            if locked is None or time.monotonic() > last_s or not is_brief(int(locked["holder"] or 0)):
                raise AnalysisError(_explain(path, str(error))) from error
        time.sleep(_PAUSE_S)


def _explain(path: Path, message: str) -> str:
    """Why DuckDB does not open the file, and what to do."""
    words = _without_quotes(path, message)
    if (locked := _LOCKED.search(words)) and locked["holder"]:
        return (
            f"{path}: in use by process {locked['holder']}: while one process writes the database no other can open "
            "it, and while one reads it none can write. Close that process or wait for it"
        )
    if _DAMAGED.search(words):
        return (
            f"{path}: not a database that this DuckDB ({duckdb.__version__}) can read. Move it away; `bench load` "
            "rebuilds it from the result files"
        )
    first_line = message.splitlines()[0] if message else "unknown reason"
    if "Read-only file system" in words or "Permission denied" in words:
        first_line += ". Copy the results folder to where you may write, and `bench load` it there"
    return f"{path}: cannot be opened: {first_line}"


def _explain_failed_write(path: Path, message: str) -> str:
    """Why DuckDB ended a load, and what to do."""
    if _DAMAGED.search(_without_quotes(path, message)):
        return _explain(path, message)
    if "Cannot access file" in message:
        return (
            f"{path}: one of its views reads other files, so it is not as scalebench made it. Move it away; `bench "
            "load` rebuilds it from the result files"
        )
    return (
        f"{path}: cannot be written: {message.splitlines()[0]}. The result files are safe: fix that, then repeat "
        "`bench load`"
    )


def _without_quotes(path: Path, message: str) -> str:
    """DuckDB's message without the path and other quoted text: both may contain any word."""
    for known in sorted({str(path), str(path.absolute()), str(path.resolve())}, key=len, reverse=True):
        message = message.replace(known, "")
    return _QUOTED.sub("", message)


def _definitions(connection: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """The digest of the definitions that made the tables: None without tables, empty if no load has completed them.

    Raises AnalysisError if another program made the tables."""
    tables = schema.existing_tables(connection)
    if not tables:
        return None
    if "database_info" not in tables:
        raise AnalysisError(
            f"{path}: holds tables of another program ({', '.join(sorted(tables)[:3])}): move it away, or give another "
            "results folder"
        )
    found = connection.execute("SELECT definitions FROM database_info").fetchall()
    return str(found[0][0]) if found else ""
