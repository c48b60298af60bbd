"""A comparison on a terminal: what is unlike, the table, one closing sentence."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from analysis import tables
from analysis.compare.cells import UNLIKE, difference, key_columns, notes, value_columns
from analysis.compare.comparison import Comparison
from analysis.compare.sentence import sentence
from analysis.plain import cell


def show(comparison: Comparison, out: Console | None = None) -> None:
    """Print it."""
    out = out or tables.console()
    if comparison.unlike:
        out.print(Text(UNLIKE, style="bold yellow"))
    for found in comparison.differences:
        style = "yellow" if found.must_equal else ""
        out.print(Text(f"{'  ' if found.must_equal else 'also differs: '}{difference(found)}", style=style))
    title = f"{cell(comparison.candidate.name)} against {cell(comparison.baseline.name)}, the baseline"
    tables.show(out, title, key_columns(comparison), value_columns(comparison))
    for note in notes(comparison):
        out.print(Text(note))
    style = "bold red" if comparison.fails else "bold"
    out.print(Text(sentence(comparison), style=style))
