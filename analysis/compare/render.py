"""Print a comparison in the requested form."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from analysis.compare.comparison import QUERY, Comparison, compare
from analysis.compare.comparison_table import comparison_tables
from analysis.compare.sides import Side
from analysis.compare.wording import UNLIKE, differences, notes, sentence
from analysis.database import connections
from analysis.sql import output
from analysis.tables import terminal
from analysis.tables.markdown import code
from analysis.tables.markdown import markdown as markdown_table


def write(
    results: Path, baseline: str, candidate: str, *, margin: float, max_regression: float, form: str
) -> Comparison:
    """Print the comparison as `table`, `markdown`, `json` or `csv`.

    Raises AnalysisError if a side names no session, or the two have no ratio."""
    with connections.reader(results) as connection:
        comparison = compare(connection, baseline, candidate, margin=margin, max_regression=max_regression)
        if form == "csv":  # the rows of the macro, with every digit
            output.write_csv(connection.sql(QUERY, params=comparison.parameters), sys.stdout.buffer)
    if form == "table":
        show(comparison)
    elif form == "markdown":
        sys.stdout.write(f"{markdown(comparison)}\n")
    elif form == "json":
        text = json.dumps(as_json(comparison), ensure_ascii=False, allow_nan=False, indent=1)
        sys.stdout.write(f"{text}\n")
    return comparison


def show(comparison: Comparison, out: Console | None = None) -> None:
    """Print for a terminal: the facts that differ, the table, notes, and the closing sentence."""
    out = out or terminal.console()
    if comparison.unlike:
        terminal.say(out, UNLIKE, "bold yellow")
    for must_equal, words in differences(comparison):
        lead, style = ("  ", "yellow") if must_equal else ("also differs: ", "")
        terminal.say(out, f"{lead}{words}", style)
    title = f"{comparison.candidate.name} against {comparison.baseline.name}, the baseline"
    terminal.show(out, title, *comparison_tables(comparison))
    for note in notes(comparison):
        terminal.say(out, note)
    terminal.say(out, sentence(comparison), "bold red" if comparison.fails else "bold")


def markdown(comparison: Comparison) -> str:
    """The text for a merge request: closing sentence, facts that should be equal but differ, table."""
    parts = [f"**{sentence(comparison, code)}**"]
    if comparison.unlike:
        lines = [f"> - {words}" for must_equal, words in differences(comparison, code) if must_equal]
        parts.append("\n".join([f"> **{UNLIKE}**", ">", *lines]))
    parts.append(markdown_table(next(comparison_tables(comparison))))
    lines = [f"baseline: {code(comparison.baseline.name)}; candidate: {code(comparison.candidate.name)}"]
    lines += [
        f"also differs: {words}" for must_equal, words in differences(comparison, code) if not must_equal
    ]
    parts.append("\n".join(f"- {line}" for line in [*lines, *notes(comparison, code)]))
    return "\n\n".join(parts)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """The whole comparison as JSON, with every digit."""
    return {
        "baseline": _side(comparison.baseline),
        "candidate": _side(comparison.candidate),
        "margin": comparison.margin,
        "max_regression": comparison.max_regression,
        "regression": comparison.has_regression,
        "sentence": sentence(comparison),
        "imported": list(comparison.imported),
        "busy": list(comparison.busy),
        "differences": [asdict(found) for found in comparison.differences],
        "only_baseline": list(comparison.alone[0]),
        "only_candidate": list(comparison.alone[1]),
        "rows": [_row(row) for row in comparison.rows],
    }


def _side(side: Side) -> dict[str, Any]:
    return {"sessions": list(side.session_ids), "case": side.case}


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "fingerprint_diff": json.loads(row["fingerprint_diff"] or "null")}
