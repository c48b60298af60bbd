"""The SQL definitions in results.duckdb-schema/.

tables/ are filled from files and from Python, derived/ are tables that load fills with a query, views/ are computed on
every read, rules/ find problems. Each has its own file. A file of macros/ has all macros of one subject. load/ has
templates of load's statements, for str.format."""

from __future__ import annotations

import graphlib
import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb

from analysis.database import meanings
from analysis.database.sql_text import referred_to
from analysis.diagnosis import rules
from bench.records.parquet_tables import PARQUET_TABLES
from bench.records.vocabulary import SCHEMA_VERSION

SESSION_TABLES = ("sessions", "runs", *PARQUET_TABLES, "environment", "planned_runs")
"""Tables that load fills from a session's files; each has the column session_id."""
RUN_TABLES = (
    "long_steps", "paused_profiles", "step_stats", "run_pauses", "run_rank_stats", "run_stats", "run_device_stats",
    "run_part_stats", "sensors",
)  # fmt: skip
"""Derived from the rows of single runs, in this order."""
FITTED_TABLE = "law_fits"
"""Filled from Python with the scaling laws fitted to law_points."""
CHANGES_TABLE = "history_changes"
"""Filled from Python with the changes of level in history_points, over all sessions."""
FOUND_TABLE = "findings"
"""Filled by the rules of diagnosis."""
COMPARED_TABLES = ("fabric_fits", "matmul_rates", "history_points")
"""Tables whose rows of other sessions a view reads for its rows of one session."""
LEAST_SESSIONS = {CHANGES_TABLE: 2, "shared_changes": 2}
"""Table or view -> number of sessions of one suite below which it is empty. Each row of a shipped rule that reads one
is about one of its rows."""
_ERRORS_IN_DEFINITIONS = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
_MACRO_NAME = re.compile(r'CREATE OR REPLACE MACRO "?(\w+)')


@cache
def folder() -> Path:
    """The folder of definitions: in the installed package, or at the top of a checkout."""
    here = Path(__file__).resolve().parents[1]
    installed = here / "_schema"
    return installed if installed.is_dir() else here.parent / "results.duckdb-schema"


@cache
def _files(kind: str) -> dict[str, Path]:
    """Name -> file, for one of the folders."""
    return {path.stem: path for path in sorted((folder() / kind).glob("*.sql"))}


@cache
def _macros() -> dict[str, str]:
    """Name -> definition. An empty line separates the definitions in a file of macros/."""
    texts = [path.read_text(encoding="utf-8").rstrip() for path in _files("macros").values()]
    parts = [part for text in texts for part in re.split(r"(?<=;)\n\n", text)]
    return {_MACRO_NAME.findall(part)[0]: part for part in parts}


@cache
def text(name: str) -> str:
    """The SQL of a table, a view, a macro or a step of load; for a derived table, the query that fills it, without a
    semicolon. Raises KeyError for other names."""
    if name in _macros():
        return _macros()[name]
    for kind in ("tables", "derived", "views", "load"):
        if path := _files(kind).get(name):
            return path.read_text(encoding="utf-8").rstrip().removesuffix(";" if kind == "derived" else "")
    raise KeyError(name)


@contextmanager
def errors_name(name: str) -> Iterator[None]:
    """DuckDB's message about an error in the definition of a table, view, macro or rule begins with its file."""
    try:
        yield
    except _ERRORS_IN_DEFINITIONS as error:
        found = [path for kind in ("tables", "derived", "views", "rules") if (path := _files(kind).get(name))]
        place = found[0].relative_to(folder().parent) if found else f"the macro {name}"
        raise type(error)(f"{place}: {error}") from error


def tables() -> list[str]:
    """Names of the tables that no query fills."""
    return sorted(_files("tables"))


def derived() -> list[str]:
    """Names of the derived tables; each comes after those that it reads."""
    return [*RUN_TABLES, *derived_of_sessions()]


def derived_of_sessions() -> list[str]:
    """Names of the tables derived from whole sessions, including the one that Python fills."""
    known = _files("derived").keys() - {*RUN_TABLES} | {FITTED_TABLE}
    return [name for name in _in_order() if name in known]


def views() -> list[str]:
    """Names of the views; each comes after those that it reads."""
    return [name for name in _in_order() if name in _files("views")]


def macros() -> list[str]:
    """Names of the macros. A table macro is read like a view: `FROM compare('a', 'b', 0.02)`."""
    return [name for name in _in_order() if name in _macros()]


def session_tables() -> list[str]:
    """Every table with a column session_id; each comes after those that it is derived from."""
    return [*SESSION_TABLES, *derived(), FOUND_TABLE]


def stored() -> list[str]:
    """Names of all tables, those of sessions first; each comes after those that it is derived from."""
    found = session_tables()
    return [*found, *(name for name in tables() if name not in found)]


@cache
def shipped_rules() -> tuple[rules.Rule, ...]:
    """The rules in rules/, by name."""
    return tuple(rules.read(folder() / "rules"))


@cache
def references() -> dict[str, set[str]]:
    """The names that each derived table, view and macro reads from or calls."""
    names = [*_files("derived"), *_files("views"), *_macros()]
    made_in_python = {FITTED_TABLE: {"law_points"}, CHANGES_TABLE: {"history_points"}}
    return {name: referred_to(text(name)) for name in names} | made_in_python


@cache
def _in_order() -> tuple[str, ...]:
    """Names of derived tables, views and macros; each comes after those that it reads or calls."""
    known = references()
    readers = {
        name: [other for other in sorted(known) if other != name and other in known[name]]
        for name in sorted(known)
    }
    return tuple(graphlib.TopologicalSorter(readers).static_order())


def reached_from(names: Iterable[str]) -> set[str]:
    """These names and everything that they read or call, directly or indirectly."""
    known = references()
    found: set[str] = set()
    wanted = set(names)
    while wanted:
        found |= wanted
        wanted = set().union(*(known.get(name, set()) for name in wanted)) - found
    return found


@cache
def digest() -> str:
    """SHA-256 of all definitions. Load rebuilds a database that has another one."""
    files = sorted(folder().rglob("*.sql"))
    parts = [f"{path.relative_to(folder())}\n{path.read_text(encoding='utf-8')}" for path in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def existing_tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Names of the database's tables, without temporary ones."""
    query = "SELECT table_name FROM duckdb_tables() WHERE NOT temporary"
    return {name for (name,) in connection.execute(query).fetchall()}


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Make every table, view and macro in an empty database."""
    create_tables(connection)
    complete(connection)


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables that load fills from files, and the macros that read nothing derived: load needs them before it
    derives rows."""
    for name in [*tables(), *_early()]:
        with errors_name(name):
            connection.execute(text(name))


def complete(connection: duckdb.DuckDBPyConnection) -> None:
    """Make everything else, comment on it, and record the rules and the definitions.

    Derived tables may already exist: the first load makes them when it has the rows, because DuckDB takes as long to
    plan a query for its columns alone as for its rows."""
    there = {*existing_tables(connection), *_early()}
    for name in _in_order():
        if name not in there:
            is_derived = name in _files("derived")
            with errors_name(name):
                connection.execute(
                    f"CREATE TABLE {name} AS {text(name)} WITH NO DATA" if is_derived else text(name)
                )
    kinds = {name: "VIEW" if name in _files("views") else "TABLE" for name in (*stored(), *views())}
    meanings.comment(connection, kinds, text, references())
    rules.note(connection, shipped_rules())
    values = ("scalebench", SCHEMA_VERSION, digest())
    connection.execute("INSERT INTO database_info VALUES (?, ?, ?)", values)


def is_complete(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether `complete` has been called."""
    return bool(connection.execute("SELECT 1 FROM database_info").fetchall())


@cache
def _early() -> tuple[str, ...]:
    """Names of the macros that read neither a derived table nor a view."""
    late = {*derived(), *views()}
    return tuple(name for name in _in_order() if reached_from([name]).isdisjoint(late))
