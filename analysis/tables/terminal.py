"""A table on a terminal. Cells are never cut off: a table that is too wide is split into parts below each other."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import MappingProxyType

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from analysis.tables.column import Column
from analysis.tables.table import Table
from analysis.tables.text_layout import padded
from analysis.wording.plain_text import printable

_GAP = "  "
WIDE = 1_000
"""Width of a pipe or a file in columns: each row should stay on one line."""
_STYLES = MappingProxyType(
    {"": "", "good": "green", "fair": "yellow", "bad": "red", "alarm": "bold red", "weak": "dim"}
)
"""Tone -> style of rich."""


def console() -> Console:
    """Standard output. In a pipe it has no colour, and its width is COLUMNS [default: no limit]."""
    wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=WIDE if wide else None, highlight=False, soft_wrap=wide)


def say(out: Console, line: str, style: str = "") -> None:
    """Print a line of text. It may contain untrusted names, so invisible characters become escapes."""
    is_command = line.lstrip().startswith("try: ")  # the terminal wraps it, so that it can be copied
    out.print(Text(printable(line), style=style), soft_wrap=is_command or None)


def show(out: Console, title: str, table: Table) -> None:
    """Print a table under its title. If it is too wide, print its value columns in parts, each with the keys."""
    say(out, title, "bold")
    columns, lines = table.columns(), [list(map(printable, line)) for line in table.lines()]
    cells = [[line[i] for line in lines] for i in range(len(columns))]
    widths = [
        max(map(cell_len, [column.heading, *texts])) for column, texts in zip(columns, cells, strict=True)
    ]
    styles = [[_STYLES[column.tone(row)] for row in table.rows] for column in columns]
    keys = list(range(len(table.keys)))
    left = list(range(len(keys), len(columns)))
    while left:
        count = len(left)
        while count > 1 and _total(widths, [*keys, *left[:count]]) > out.width:
            count -= 1
        part = [*keys, *left[:count]]
        fits = _total(widths, part) <= out.width
        draw = _aligned if fits else _folded
        chosen = [(columns[i], cells[i], styles[i]) for i in part]
        out.print(draw(chosen, [widths[i] for i in part]), soft_wrap=fits)
        left = left[count:]


def _total(widths: Sequence[int], part: Sequence[int]) -> int:
    return sum(widths[i] for i in part) + len(_GAP) * (len(part) - 1)


_Drawn = tuple[Column, Sequence[str], Sequence[str]]
"""A column, its cells and their styles."""


def _aligned(columns: Sequence[_Drawn], widths: Sequence[int]) -> Text:
    """The table as one text: rich's own tables take a second for a thousand rows."""
    heads = [
        padded(column.heading, width, column.number)
        for (column, _, _), width in zip(columns, widths, strict=True)
    ]
    rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    parts: list[str | tuple[str, str]] = [(_GAP.join(heads), "bold"), "\n", rule]
    for row in range(len(columns[0][1])):
        for place, ((column, cells, styles), width) in enumerate(zip(columns, widths, strict=True)):
            parts += [_GAP if place else "\n", (padded(cells[row], width, column.number), styles[row])]
    return Text.assemble(*parts)


def _folded(columns: Sequence[_Drawn], _widths: Sequence[int]) -> RichTable:
    """A table for a terminal too narrow for the keys and a single value: cells take several lines."""
    table = RichTable(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column, _, _ in columns:
        table.add_column(column.heading, justify="right" if column.number else "left", overflow="fold")
    for row in range(len(columns[0][1])):
        table.add_row(*(Text(cells[row], style=styles[row]) for _, cells, styles in columns))
    return table
