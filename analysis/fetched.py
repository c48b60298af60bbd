"""Rows of a query as dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

Row = dict[str, Any]
"""Column -> value."""


def fetched(
    connection: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] | Mapping[str, Any] = ()
) -> list[Row]:
    """All rows; `values` are those of the query's parameters, by place or by name."""
    given = dict(values) if isinstance(values, Mapping) else list(values)
    result = connection.execute(query, given)
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
