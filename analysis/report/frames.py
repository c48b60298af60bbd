"""The named queries of analysis/report/queries, run against one session or several, as polars frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl

from analysis import plain
from analysis.sql_words import literal

_QUERIES = Path(__file__).parent / "queries"

Parameter = str | float | Sequence[str]
"""Of a query."""


def query_text(name: str) -> str:
    """The SQL of queries/NAME.sql, with its parameters `$session_id`, `$session_ids` ... where it has them."""
    return (_QUERIES / f"{name}.sql").read_text(encoding="utf-8")


def pasteable(name: str, session_id: str | None = None, **parameters: Parameter) -> str:
    """The same with the values in it, ready for `bench sql`."""
    values = {**parameters, **_session(session_id)}
    return re.sub(r"\$(\w+)", lambda found: _literal(values[found[1]]), query_text(name))


def _literal(value: Parameter) -> str:
    if isinstance(value, str):
        return literal(value)
    return str(value) if isinstance(value, float) else "[" + ", ".join(map(_literal, value)) + "]"


def _session(session_id: str | None) -> dict[str, Parameter]:
    return {} if session_id is None else {"session_id": session_id}


def frame(
    connection: duckdb.DuckDBPyConnection, name: str, session_id: str | None = None, **parameters: Parameter
) -> pl.DataFrame:
    """The rows of queries/NAME.sql."""
    values = {**parameters, **_session(session_id)}
    # Not pl.DataFrame(relation): without pyarrow DuckDB 2.0 complains of leaks when the process ends.
    return _printable(connection.sql(query_text(name), params=values or None).pl())


_EXACT = ("session_id", "config")
"""Columns that name or are parsed, and so stay as they are."""


def _printable(rows: pl.DataFrame) -> pl.DataFrame:
    """Characters that draw nothing become visible (`\\u202e`): one of them can turn round the text that follows it."""
    columns = [name for name, kind in rows.schema.items() if kind == pl.String and name not in _EXACT]
    suspect = [
        name for name in columns if rows.get_column(name).str.contains(r"[^\P{C}\n]|[\u2028\u2029]").any()
    ]
    return rows.with_columns(pl.col(name).map_elements(printable, return_dtype=pl.String) for name in suspect)


def printable(value: str) -> str:
    return plain.printable(value, keep="\n")


def by_suite(rows: pl.DataFrame, cases: Sequence[str]) -> pl.DataFrame:
    """Cases in the order of the suite, each keeping the order of its rows; unknown cases last."""
    if "case_name" not in rows.columns:
        return rows
    places = {name: place for place, name in enumerate(cases)}
    place = rows.get_column("case_name").map_elements(
        lambda name: places.get(name, len(places)), return_dtype=pl.Int64
    )
    return rows.with_columns(place.alias("place")).sort("place", maintain_order=True).drop("place")
