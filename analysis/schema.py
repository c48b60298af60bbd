"""The SQL definitions in results.duckdb-schema/, one file each: tables/ are filled from files and from Python, derived/
are tables that load fills with a query, views/ are asked whenever they are read, macros/ are called, rules/ find."""

from __future__ import annotations

import graphlib
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import duckdb

from analysis import rules
from analysis.sql_words import referred_to
from bench.records.vocabulary import SCHEMA_VERSION

PARQUET_TABLES = (
    "steps",
    "samples",
    "evals",
    "collectives",
    "matmuls",
    "profile",
    "profile_collectives",
    "selfcheck",
)
"""Tables that are filled from Parquet files of the same name."""
SESSION_TABLES = ("sessions", "runs", *PARQUET_TABLES, "environment", "planned_runs")
"""Tables that are filled from a session's files, and have its session_id."""
RUN_TABLES = ("step_stats", "run_rank_stats", "run_stats", "run_device_stats", "run_part_stats", "sensors")
"""Derived from the rows of whole runs, in this order."""
FITTED_TABLE = "law_fits"
"""Filled with what SQL cannot compute, from law_points."""
FOUND_TABLE = "findings"
"""Filled by the rules of diagnosis."""
COMPARED_TABLES = ("fabric_fits", "matmul_rates", "history_points")
"""Views read other sessions' rows of these to say something of one."""


@cache
def folder() -> Path:
    """In the installed package, or at the top of a checkout."""
    here = Path(__file__).resolve().parent
    installed = here / "_schema"
    return installed if installed.is_dir() else here.parent / "results.duckdb-schema"


@cache
def _files(kind: str) -> dict[str, Path]:
    """Name -> file, of one of the folders."""
    return {path.stem: path for path in sorted((folder() / kind).glob("*.sql"))}


@cache
def text(name: str) -> str:
    """The SQL of a table, a view, a macro or a step of load; of a derived table the query that fills it, without a
    semicolon."""
    for kind in ("tables", "derived", "views", "macros", "load"):
        if path := _files(kind).get(name):
            return path.read_text(encoding="utf-8").rstrip().removesuffix(";" if kind == "derived" else "")
    raise KeyError(name)


def tables() -> list[str]:
    """Names of the tables that no query fills."""
    return sorted(_files("tables"))


def derived() -> list[str]:
    """Names of the derived tables, each after those that it reads."""
    return [*RUN_TABLES, *derived_of_sessions()]


def derived_of_sessions() -> list[str]:
    """Those that need the rows of whole sessions, with the one that Python fills."""
    known = _files("derived").keys() - {*RUN_TABLES} | {FITTED_TABLE}
    return [name for name in _in_order() if name in known]


def views() -> list[str]:
    """Names of the views, each after those that it reads."""
    return [name for name in _in_order() if name in _files("views")]


def macros() -> list[str]:
    """Names of the macros: a table macro is read like a view, `FROM compare('a', 'b', 0.02)`."""
    return [name for name in _in_order() if name in _files("macros")]


def session_tables() -> list[str]:
    """Every table that has rows of a session, each after those that it is made from."""
    return [*SESSION_TABLES, *derived(), FOUND_TABLE]


@cache
def shipped_rules() -> tuple[rules.Rule, ...]:
    """Of `diagnosis`, by name."""
    return tuple(rules.read(folder() / "rules"))


@cache
def references() -> dict[str, set[str]]:
    """What each derived table, view and macro reads from or calls."""
    names = [name for kind in ("derived", "views", "macros") for name in _files(kind)]
    # law_fits is made in Python, from law_points.
    return {name: referred_to(text(name)) for name in names} | {FITTED_TABLE: {"law_points"}}


@cache
def _in_order() -> tuple[str, ...]:
    """Names of all that reads something, each after what it reads."""
    known = references()
    readers = {
        name: [other for other in sorted(known) if other != name and other in known[name]]
        for name in sorted(known)
    }
    return tuple(graphlib.TopologicalSorter(readers).static_order())


def reached_from(names: Iterable[str]) -> set[str]:
    """These, and everything that they read from or call, by way of what is derived, too."""
    known = references()
    found: set[str] = set()
    wanted = set(names)
    while wanted:
        found |= wanted
        wanted = set().union(*(known.get(name, set()) for name in wanted)) - found
    return found


@cache
def digest() -> str:
    """Of all definitions: a database with another one is rebuilt."""
    files = sorted(folder().rglob("*.sql"))
    parts = [f"{path.relative_to(folder())}\n{path.read_text(encoding='utf-8')}" for path in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Make every table, view and macro in an empty database."""
    for name in tables():
        connection.execute(text(name))
    for name in _in_order():
        if name in _files("derived"):
            connection.execute(f"CREATE TABLE {name} AS {text(name)} WITH NO DATA")
        elif name != FITTED_TABLE:
            connection.execute(text(name))
    rules.note(connection, shipped_rules())
    values = ("scalebench", SCHEMA_VERSION, digest())
    connection.execute("INSERT INTO database_info VALUES (?, ?, ?)", values)
