"""Some sessions of many: within a focus every view has their rows alone, and costs what it would in a database that
holds no others. What a view says of one session by the rows of others it still says (schema.SHARED_TABLES).

What is laid is dropped where its block ends well. Where it raises, a transaction's rollback drops it (in one that is
aborted nothing else can), or the connection's end: whoever catches an error must be outside of one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from analysis import schema
from analysis.sql_words import literal

_ORDERED = "planned_runs"
"""Its rowid is the order of the plan: a view would have none."""
HISTORY = "history"
"""Reads all sessions of a suite."""


@contextmanager
def history(connection: duckdb.DuckDBPyConnection, sessions: Sequence[str]) -> Iterator[None]:
    """Inside it `history` is a table of these sessions, made from all there are: a focus within it leaves it whole."""
    query = f"CREATE TEMP TABLE {HISTORY} AS FROM {HISTORY} WHERE session_id IN (SELECT unnest($1))"
    connection.execute(query, [list(sessions)])
    yield
    connection.execute(f"DROP TABLE temp.{HISTORY}")


@contextmanager
def on(connection: duckdb.DuckDBPyConnection, sessions: Sequence[str]) -> Iterator[None]:
    """Views see the rows of these sessions: temporary views that are named like the tables stand before them. The table
    `focused_sessions` has their names."""
    connection.execute(schema.text("ingest/focused_sessions"), {"ids": list(sessions)})
    names = _tables() if _has_others(connection) else []
    (database,) = connection.execute("SELECT current_database()").fetchone() or ("",)
    for name in names:
        kind = "TABLE" if name == _ORDERED else "VIEW"
        rows = f'FROM "{database}".main.{name} WHERE {_condition(sessions)}'
        connection.execute(f"CREATE TEMP {kind} {name} AS {rows}")
    yield
    for name in names:
        connection.execute(f"DROP {'TABLE' if name == _ORDERED else 'VIEW'} temp.{name}")


def _tables() -> list[str]:
    every = (*schema.SESSION_TABLES, *schema.DERIVED_TABLES, *schema.FITTED_TABLES)
    return [name for name in every if name not in schema.SHARED_TABLES]


def _has_others(connection: duckdb.DuckDBPyConnection) -> bool:
    query = "SELECT count(*) FROM sessions WHERE session_id NOT IN (SELECT session_id FROM focused_sessions)"
    (others,) = connection.execute(query).fetchone() or (0,)
    return bool(others)


def _condition(sessions: Sequence[str]) -> str:
    """By a constant, what a table holds of others is mostly not even read."""
    if len(sessions) == 1:
        return f"session_id = {literal(sessions[0])}"
    return "session_id IN (SELECT session_id FROM focused_sessions)"


@contextmanager
def reading(connection: duckdb.DuckDBPyConnection, sessions: Sequence[str]) -> Iterator[None]:
    """For those who ask many views of these sessions: on them, with the views on which most others stand made."""
    with on(connection, sessions), made(connection, _ASKED_MOST):
        yield


_ASKED_MOST = ("run_summary", "placements", "scaling", "efficiency_loss")


@contextmanager
def made(connection: duckdb.DuckDBPyConnection, views: Sequence[str]) -> Iterator[None]:
    """Inside it these views are tables of the focus, made once, not for each that reads them; of views that read each
    other the one that is read comes first."""
    for view in views:
        rows = f"FROM {view} WHERE session_id IN (SELECT session_id FROM focused_sessions)"  # noqa: S608
        connection.execute(f"CREATE TEMP TABLE {view} AS {rows}")
    yield
    for view in reversed(views):
        connection.execute(f"DROP TABLE temp.{view}")
