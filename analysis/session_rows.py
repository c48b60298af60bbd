"""A session's rows of a view in the order of its plan."""

from __future__ import annotations

from typing import Any

import duckdb

Row = dict[str, Any]

_PLACEMENT = ("workers", "nodes", "ranks_per_node", "threads")


def session_rows(connection: duckdb.DuckDBPyConnection, view: str, session_id: str) -> list[Row]:
    """Cases as the suite orders them, then by size; `view` is a name of ours: a row per case, placement or run."""
    rows = _rows(connection, f"FROM {view} WHERE session_id = $1", session_id)
    planned = _rows(connection, "SELECT case_name FROM planned_runs WHERE session_id = $1", session_id)
    order = {name: place for place, name in enumerate(dict.fromkeys(row["case_name"] for row in planned))}
    return sorted(
        rows,
        key=lambda row: (
            order.get(row["case_name"], len(order)),
            row["case_name"],
            *(row.get(name, 0) for name in _PLACEMENT),
            row.get("repeat", 0),
        ),
    )


def _rows(connection: duckdb.DuckDBPyConnection, query: str, *values: str) -> list[Row]:
    result = connection.execute(query, list(values))
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
