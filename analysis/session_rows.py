"""A session's rows of a view in the order of its plan."""

from __future__ import annotations

import duckdb

from analysis.fetched import Row, fetched

_PLACEMENT = ("workers", "nodes", "ranks_per_node", "threads")


def session_rows(connection: duckdb.DuckDBPyConnection, view: str, session_id: str) -> list[Row]:
    """Cases as the suite orders them, then by size; `view` is a name of ours: a row per case, placement or run."""
    rows = fetched(connection, f"FROM {view} WHERE session_id = $1", [session_id])
    measured = "SELECT case_name FROM planned_runs WHERE session_id = $1 AND probe IS NOT TRUE"
    planned = fetched(connection, measured, [session_id])
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
