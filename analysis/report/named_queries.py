"""Run the queries in analysis/report/queries for one or several sessions; their rows are polars frames."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import duckdb
import polars as pl

from analysis.database import arrow
from analysis.database.sql_text import literal
from analysis.errors import AnalysisError
from analysis.report.redaction import redacted
from analysis.wording import plain_text

# DuckDB advises connection.sql, which plans each query twice; the copy that it warns of is small.
warnings.filterwarnings("ignore", message="Arrow output on a DB-API result makes an extra copy")

_QUERIES = Path(__file__).parent / "queries"

Parameter = str | float | Sequence[str]
"""A value of a query's parameter."""
_EXACT = ("session_id", "config")
"""Columns that are identifiers or will be parsed: their text stays unchanged."""


def query_text(name: str) -> str:
    """The SQL of queries/NAME.sql, with parameters such as `$session_id`."""
    path = _QUERIES / f"{name}.sql"
    if not path.is_file():
        raise AnalysisError(f"{path} does not exist: a chart reads the query that has its name")
    return path.read_text(encoding="utf-8")


def pasteable(name: str, session_id: str | None = None, **parameters: Parameter) -> str:
    """The SQL with the parameters' values, ready for `bench sql`."""
    values = {**parameters, "session_id": session_id or ""}

    def written(value: Parameter) -> str:
        if isinstance(value, str):
            return literal(value)
        return str(value) if isinstance(value, float) else "[" + ", ".join(map(written, value)) + "]"

    return re.sub(r"\$(\w+)", lambda found: written(values[found[1]]), query_text(name))


def frame(
    connection: duckdb.DuckDBPyConnection, name: str, session_id: str | None = None, **parameters: Parameter
) -> pl.DataFrame:
    """The rows of queries/NAME.sql."""
    values = parameters if session_id is None else {**parameters, "session_id": session_id}
    # Without pyarrow, as in pl.DataFrame(relation), DuckDB 2.0 complains of leaks when the process ends.
    found = arrow.table(connection.execute(query_text(name), values or None))
    return redacted(_printable(cast("pl.DataFrame", pl.from_arrow(found, rechunk=False))))


def _printable(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with invisible characters as escapes (`\\u202e`): one of them can reverse the text that follows it."""
    texts = [name for name, kind in rows.schema.items() if kind == pl.String and name not in _EXACT]
    is_suspect = rows.select(pl.col(name).str.contains(r"[^\P{C}\n]|[\u2028\u2029]").any() for name in texts)
    suspect = [name for name in texts if is_suspect.item(0, name)]
    return rows.with_columns(pl.col(name).map_elements(printable, return_dtype=pl.String) for name in suspect)


def printable(value: str) -> str:
    return plain_text.printable(value, keep="\n")


def by_suite(rows: pl.DataFrame, cases: Sequence[str]) -> pl.DataFrame:
    """The rows with their cases in the order of the suite, unknown cases last."""
    if "case_name" not in rows.columns:
        return rows
    places = {name: place for place, name in enumerate(cases)}
    place = rows.get_column("case_name").map_elements(
        lambda name: places.get(name, len(places)), return_dtype=pl.Int64
    )
    return rows.with_columns(place.alias("place")).sort("place", maintain_order=True).drop("place")
