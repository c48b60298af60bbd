"""A comparison in the form that was asked for, on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb

from analysis import database, output
from analysis.compare import terminal
from analysis.compare.comparison import QUERY, Comparison, compare
from analysis.compare.markdown import markdown
from analysis.compare.sentence import sentence
from analysis.compare.sides import Side


def write(
    results: Path, baseline: str, candidate: str, *, margin: float, max_regression: float, form: str
) -> bool:
    """Print it as `table`, `markdown`, `json` or `csv`; returns whether a regression is certain.

    Raises AnalysisError where a side names no session, or the two have no ratio."""
    with database.reader(results) as connection:
        found = compare(connection, baseline, candidate, margin=margin, max_regression=max_regression)
        _FORMS[form](connection, found)
    return found.fails


def _table(_connection: duckdb.DuckDBPyConnection, comparison: Comparison) -> None:
    terminal.show(comparison)


def _markdown(_connection: duckdb.DuckDBPyConnection, comparison: Comparison) -> None:
    sys.stdout.write(f"{markdown(comparison)}\n")


def _json(_connection: duckdb.DuckDBPyConnection, comparison: Comparison) -> None:
    text = json.dumps(as_json(comparison), ensure_ascii=False, allow_nan=False, indent=1)
    sys.stdout.write(f"{text}\n")


def _csv(connection: duckdb.DuckDBPyConnection, comparison: Comparison) -> None:
    """The rows of the macro, in full precision."""
    output.write_csv(connection.sql(QUERY, params=comparison.parameters), sys.stdout.buffer)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Everything that the table says, with numbers in full precision."""
    return {
        "baseline": _side(comparison.baseline),
        "candidate": _side(comparison.candidate),
        "margin": comparison.margin,
        "max_regression": comparison.max_regression,
        "regression": comparison.fails,
        "sentence": sentence(comparison, str),
        "differences": [asdict(found) for found in comparison.differences],
        "only_baseline": list(comparison.alone[0]),
        "only_candidate": list(comparison.alone[1]),
        "rows": [_row(row) for row in comparison.rows],
    }


def _side(side: Side) -> dict[str, Any]:
    return {"sessions": list(side.session_ids), "case": side.case}


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "fingerprint_diff": json.loads(row["fingerprint_diff"] or "null")}


_FORMS: Mapping[str, Callable[[duckdb.DuckDBPyConnection, Comparison], None]] = MappingProxyType(
    {"table": _table, "markdown": _markdown, "json": _json, "csv": _csv}
)
