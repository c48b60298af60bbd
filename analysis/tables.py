"""Tables on a terminal: as many below each other as the width asks for, so that no cell is ever cut off."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

WIDE = 1_000
"""Columns of a pipe or a file, where a row is best one line."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A heading and its cells; empty cells only: the column is left out."""

    heading: str
    cells: Sequence[str]
    number: bool = True
    """Numbers stand right, text left."""
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
        out.print(_table([*keys, *shown[:count]]))
        shown = shown[count:]


def _fitting(out: Console, keys: Sequence[Column], columns: Sequence[Column]) -> int:
    """How many of the columns fit beside the keys: at least one."""
    for count in range(len(columns), 1, -1):
        table = _table([*keys, *columns[:count]])
        if Measurement.get(out, out.options.update(width=WIDE), table).maximum <= out.width:
            return count
    return 1


def _table(columns: Sequence[Column]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column.heading, justify="right" if column.number else "left", overflow="fold")
    for number in range(len(columns[0].cells)):
        table.add_row(
            *(Text(c.cells[number], style=c.styles[number] if c.styles else "") for c in columns),
        )
    return table
