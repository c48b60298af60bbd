"""Tables on a terminal: as many below each other as the width asks for, so that no cell is ever cut off."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

_GAP = "  "
WIDE = 1_000
"""Columns of a pipe or a file, where a row is best one line."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A heading and its cells; empty cells only: the column is left out."""

    heading: str
    cells: Sequence[str]
    number: bool = True
    """Numbers stand right, text left."""
    foreign: bool = False
    """Whether others wrote the cells: names, which markup must not take for its own."""
    styles: Sequence[str] = ()
    """One for each cell."""


def console() -> Console:
    """Of standard output: no colour in a pipe or with NO_COLOR, and no width but the one that COLUMNS gives."""
    wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=WIDE if wide else None, highlight=False, soft_wrap=wide)


def show(out: Console, title: str, keys: Sequence[Column], columns: Sequence[Column]) -> None:
    """Print a table; where it is too wide, its columns in several, each with the key columns."""
    out.print(Text(title, style="bold"))
    shown = [column for column in columns if any(column.cells)]
    while shown:
        count = _fitting(out, keys, shown)
        part = [*keys, *shown[:count]]
        fits = sum(map(_width, part)) + len(_GAP) * (len(part) - 1) <= out.width
        out.print(_lines(part) if fits else _folded(part), soft_wrap=fits)
        shown = shown[count:]


def _fitting(out: Console, keys: Sequence[Column], columns: Sequence[Column]) -> int:
    """How many of the columns fit beside the keys: at least one."""
    widths = [_width(column) + len(_GAP) for column in [*keys, *columns]]
    count = len(columns)
    while count > 1 and sum(widths[: len(keys) + count]) - len(_GAP) > out.width:
        count -= 1
    return count


def _width(column: Column) -> int:
    return max(map(cell_len, [column.heading, *column.cells]))


def _lines(columns: Sequence[Column]) -> Text:
    """As one text: rich's own tables take a second for a thousand rows."""
    widths = [_width(column) for column in columns]
    head = [_padded(column, column.heading, width) for column, width in zip(columns, widths, strict=True)]
    rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    parts: list[str | tuple[str, str]] = [(_GAP.join(head), "bold"), "\n", rule]
    for number in range(len(columns[0].cells)):
        for place, (column, width) in enumerate(zip(columns, widths, strict=True)):
            style = column.styles[number] if column.styles else ""
            cell = _padded(column, column.cells[number], width)
            parts += [_GAP if place else "\n", (cell, style) if style else cell]
    return Text.assemble(*parts)


def _padded(column: Column, shown: str, width: int) -> str:
    space = " " * (width - cell_len(shown))
    return space + shown if column.number else shown + space


def _folded(columns: Sequence[Column]) -> Table:
    """Wider than the terminal even so: cells take several lines."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column.heading, justify="right" if column.number else "left", overflow="fold")
    for number in range(len(columns[0].cells)):
        table.add_row(
            *(Text(c.cells[number], style=c.styles[number] if c.styles else "") for c in columns),
        )
    return table
