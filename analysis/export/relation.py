"""Rows of one session, not yet fetched: of the summary, or of any table or view with a column session_id."""

from __future__ import annotations

from pathlib import Path

import duckdb

from analysis.database import schema
from analysis.errors import AnalysisError


def summary(connection: duckdb.DuckDBPyConnection, session_id: str) -> duckdb.DuckDBPyRelation:
    return connection.sql(query("summary"), params={"session_id": session_id})


def of_view(
    connection: duckdb.DuckDBPyConnection, name: str, session_id: str, *, of_cases: bool
) -> duckdb.DuckDBPyRelation:
    """The session's rows of a table or view. Tables loaded from files keep their order; all others are sorted by their
    columns, so the same rows give the same file. Raises AnalysisError if none of that name has a column
    session_id, or with `of_cases` if its rows belong to no case."""
    names = with_sessions(connection)
    if name not in names:
        raise AnalysisError(f"--view: no table or view {name!r} of sessions: there are {', '.join(names)}")
    if of_cases and names[name] is None:
        raise AnalysisError(f"--case: the rows of {name} have no case: leave --case out")
    order = "" if name in schema.SESSION_TABLES else " ORDER BY ALL"
    return connection.sql(f'FROM "{name}" WHERE session_id = $id{order}', params={"id": session_id})


def with_sessions(connection: duckdb.DuckDBPyConnection) -> dict[str, str | None]:
    """Every table or view with a column session_id -> the column by which its rows belong to a case: case_name, run_id,
    or none."""
    return dict(connection.execute(query("with_sessions")).fetchall())


def query(name: str) -> str:
    """The SQL of a file in this folder."""
    return Path(__file__).with_name(f"{name}.sql").read_text(encoding="utf-8")
