"""Rows of queries and tables as dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

Row = dict[str, Any]
"""Column -> value."""

_PLACEMENT = ("workers", "nodes", "ranks_per_node", "threads")


def fetch_rows(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[Any] | Mapping[str, Any] = ()
) -> list[Row]:
    """All rows of a query; `parameters` are positional or named."""
    given = dict(parameters) if isinstance(parameters, Mapping) else list(parameters)
    result = connection.execute(query, given)
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def insert_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: list[Row]) -> None:
    """Insert rows, all with the same columns, into a table."""
    import pyarrow as pa  # takes longer to import than most queries run

    if not rows:
        return
    connection.register("incoming_rows", pa.Table.from_pylist(rows))
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming_rows")  # noqa: S608
    connection.unregister("incoming_rows")


def session_rows(connection: duckdb.DuckDBPyConnection, view: str, session_id: str) -> list[Row]:
    """A session's rows of a table or view with one row per case, placement or run.

    Rows are in the suite's order of cases, then by size of placement. `view` must be a trusted name."""
    rows = fetch_rows(connection, f"FROM {view} WHERE session_id = $1", [session_id])
    measured = "SELECT case_name FROM planned_runs WHERE session_id = $1 AND probe IS NOT TRUE"
    planned = fetch_rows(connection, measured, [session_id])
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
