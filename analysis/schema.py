"""The SQL definitions in results.duckdb-schema/: numbered tables, what load derives, one file per view and macro."""

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
SESSION_TABLES = ("sessions", "planned_runs", "environment", "runs", *PARQUET_TABLES)
"""Tables that are filled from a session's files, and have its session_id."""
RUN_TABLES = ("step_stats", "run_rank_stats", "run_stats", "run_device_stats", "run_part_stats", "sensors")
"""Tables that load derives from the rows of some whole runs, in this order; each has its file in derived/."""
DERIVED_TABLES = (
    *RUN_TABLES,
    "law_points",
    "fabric_fits",
    "communication_points",
    "step_messages",
    "matmul_rates",
    "history_points",
)
"""With those that it derives from whole sessions."""
FITTED_TABLES = ("law_fits",)
"""Tables that load fills with what SQL cannot compute."""
FOUND_TABLES = ("findings", "rules_due")
"""Tables that load fills by asking the rules."""
SHARED_TABLES = ("sessions", "fabric_fits", "matmul_rates")
"""Tables of which views read other sessions' rows to say something of one."""


@cache
def folder() -> Path:
    """In the installed package, or at the top of a checkout."""
    here = Path(__file__).resolve().parent
    installed = here / "_schema"
    return installed if installed.is_dir() else here.parent / "results.duckdb-schema"


def text(name: str) -> str:
    """A definition's SQL; `name` is its path in the folder, without the suffix."""
    return (folder() / f"{name}.sql").read_text(encoding="utf-8")


def table_files() -> list[str]:
    """Names of the numbered files, in their order."""
    return sorted(path.stem for path in folder().glob("[0-9]*.sql"))


def view_files() -> list[str]:
    """Names of the views, each after the views and macros that it reads."""
    return [name for name in _definition_files() if "CREATE OR REPLACE VIEW" in text(name)]


def macro_files() -> list[str]:
    """Names of the macros: a table macro is read like a view, `FROM compare('a', 'b', 0.02)`."""
    return [name for name in _definition_files() if "CREATE OR REPLACE MACRO" in text(name)]


def shipped_rules() -> list[rules.Rule]:
    """Of `diagnosis`, by name."""
    return rules.read(folder() / "rules")


def _definition_files() -> list[str]:
    """Names of views and macros, each after those that it reads."""
    known = references()
    names = sorted(known)
    readers = {name: [other for other in names if other != name and other in known[name]] for name in names}
    return list(graphlib.TopologicalSorter(readers).static_order())


@cache
def references() -> dict[str, set[str]]:
    """What each view and macro reads from or calls."""
    return {path.stem: referred_to(text(path.stem)) for path in folder().glob("[a-z]*.sql")}


def reached_from(names: Iterable[str]) -> set[str]:
    """These, and everything that they read from or call by way of views and macros."""
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
    for name in table_files():
        connection.execute(text(name))
    for name in _definition_files():
        connection.execute(text(name))
    rules.note(connection, shipped_rules())
    values = ("scalebench", SCHEMA_VERSION, digest())
    connection.execute("INSERT INTO database_info VALUES (?, ?, ?)", values)
