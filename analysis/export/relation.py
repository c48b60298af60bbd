"""Rows of one session, not yet fetched: of the summary, or of any table or view that knows sessions."""

from __future__ import annotations

from pathlib import Path

import duckdb

from analysis.errors import AnalysisError


def summary(connection: duckdb.DuckDBPyConnection, session_id: str) -> duckdb.DuckDBPyRelation:
    return connection.sql(_query("summary"), params={"session_id": session_id})


def of_view(connection: duckdb.DuckDBPyConnection, name: str, session_id: str) -> duckdb.DuckDBPyRelation:
    """Tables as they were loaded, views in the order of their columns: the same rows are the same file. Raises
    AnalysisError where there is none of that name with a column session_id."""
    views = _with_sessions(connection)
    if name not in views:
        raise AnalysisError(
            f"--view: no table or view {name!r} of sessions: there are {', '.join(sorted(views))}"
        )
    order = " ORDER BY ALL" if views[name] else ""
    return connection.sql(f'FROM "{name}" WHERE session_id = $id{order}', params={"id": session_id})


def _with_sessions(connection: duckdb.DuckDBPyConnection) -> dict[str, bool]:
    """Name -> whether it is a view."""
    return dict(connection.execute(_query("with_sessions")).fetchall())


def _query(name: str) -> str:
    return Path(__file__).with_name(f"{name}.sql").read_text(encoding="utf-8")
