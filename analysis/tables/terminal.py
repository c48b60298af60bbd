"""A table on a terminal. A table that is too wide is fitted: words move to another line, long names lose their middle,
and if that is not enough, the table is split into parts below each other. Numbers are never cut off."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from analysis.tables.column import Column
from analysis.tables.line_breaks import distinct, wrapped, wrapped_command
from analysis.tables.table import Table
from analysis.tables.text_layout import padded
from analysis.wording.plain_text import printable

_GAP = "  "
WIDE = 1_000
"""Width of a pipe or a file in columns: each row should stay on one line."""
_NAME_SHARE = 4
"""A name is cut to no less than this part of the terminal, and to no less than what keeps names different."""
_LEAST_NAME = 12
"""The same in columns, if no table fits otherwise."""
_LEAST_WORDS = 14
"""Words take several lines only beyond this width, unless no table fits otherwise."""
_STYLES = MappingProxyType(
    {"": "", "good": "green", "fair": "yellow", "bad": "red", "alarm": "bold red", "weak": "dim"}
)
"""Tone -> style of rich."""


def console() -> Console:
    """Standard output. In a pipe it has no colour, and its width is COLUMNS [default: no limit]."""
    wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=WIDE if wide else None, highlight=False, soft_wrap=wide)


def say(out: Console, line: str, style: str = "") -> None:
    """Print a line of text, wrapped between words. It may contain untrusted names, so invisible characters become
    escapes."""
    text = printable(line)
    wrap = wrapped_command if text.lstrip().startswith("try: ") else wrapped
    for part in [text] if out.soft_wrap else wrap(text, out.width):
        out.print(Text(part, style=style), soft_wrap=True)


def show(out: Console, title: str, *tables: Table) -> None:
    """Print the first of these tables that fits, or else the last, under its title."""
    say(out, title, "bold")
    fitted = [_columns(table, out.width // _NAME_SHARE, _LEAST_WORDS) for table in tables]
    fitted.append(_columns(tables[-1], _LEAST_NAME, 0))
    whole = (columns for columns in fitted if _total(columns) <= out.width)
    chosen = next(whole, fitted[-2])
    keys, left = chosen[: len(tables[0].keys)], chosen[len(tables[0].keys) :]
    if not left:
        _draw(out, keys)
    while left:
        count = len(left)
        while count > 1 and _total([*keys, *left[:count]]) > out.width:
            count -= 1
        _draw(out, [*keys, *left[:count]])
        left = left[count:]


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """A column, its cells and their styles."""

    column: Column
    cells: Sequence[str]
    styles: Sequence[str]
    is_key: bool
    least: int
    """The smallest width to which it can be fitted."""

    @property
    def width(self) -> int:
        """The width of the longest cell, uncut, or of the heading."""
        return max(map(cell_len, [self.column.heading, *self.cells]))

    def fitted(self, width: int) -> list[list[str]]:
        """The lines of each cell at that width, which is not less than `least`."""
        if self.column.wraps:
            return [wrapped(cell, width) for cell in self.cells]
        if self.is_key and self.column.untrusted:
            return [[cell] for cell in distinct(self.cells, width) or self.cells]
        return [[cell] for cell in self.cells]


def _columns(table: Table, least_name: int, least_words: int) -> list[_Shown]:
    """The columns of a table, with names cut to no less than `least_name` columns of the terminal and words wrapped at
    no less than `least_words`."""
    columns, lines = table.columns(), [list(map(printable, line)) for line in table.lines()]
    shown = []
    for place, column in enumerate(columns):
        cells = [line[place] for line in lines]
        longest, heading = max(map(cell_len, cells), default=0), cell_len(column.heading)
        least = longest
        is_key = place < len(table.keys)
        if column.wraps:
            words = (cell_len(word) for cell in cells for word in wrapped(cell, 1))
            least = max(min(longest, least_words), *words, 0)
        elif is_key and column.untrusted:
            least = _least(cells, min(longest, max(least_name, heading)), longest)
        styles = [_STYLES[column.tone(row)] for row in table.rows]
        shown.append(
            _Shown(column=column, cells=cells, styles=styles, is_key=is_key, least=max(least, heading))
        )
    return shown


def _least(names: Sequence[str], least: int, most: int) -> int:
    """The smallest width from `least` on at which the names can be cut and stay different."""
    return next((width for width in range(least, most) if distinct(names, width) is not None), most)


def _total(columns: Sequence[_Shown]) -> int:
    """The smallest width of the table."""
    return sum(column.least for column in columns) + len(_GAP) * (len(columns) - 1)


def _draw(out: Console, columns: Sequence[_Shown]) -> None:
    spare = out.width - _total(columns)
    if spare < 0:
        out.print(_folded(columns))
        return
    widths = [column.least for column in columns]
    keys = [place for place, shown in enumerate(columns) if shown.is_key]
    steps = [(place, out.width // _NAME_SHARE) for place in keys]
    steps += [(place, out.width) for place in [*range(len(keys), len(columns)), *keys]]
    for place, most in steps:  # readable names first, then words on one line, then whole names
        more = max(0, min(spare, min(columns[place].width, most) - widths[place]))
        widths[place] += more
        spare -= more
    out.print(_aligned(columns, widths), soft_wrap=True)


def _aligned(columns: Sequence[_Shown], widths: Sequence[int]) -> Text:
    """The table as one text: rich's own tables take a second for a thousand rows."""
    heads = [
        padded(shown.column.heading, width, shown.column.number)
        for shown, width in zip(columns, widths, strict=True)
    ]
    rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    fitted = [shown.fitted(width) for shown, width in zip(columns, widths, strict=True)]
    parts: list[str | tuple[str, str]] = [(_GAP.join(heads).rstrip(), "bold"), "\n", rule]
    for row in range(len(columns[0].cells)):
        for line in range(max(len(cells[row]) for cells in fitted)):
            texts = [cells[row][line] if line < len(cells[row]) else "" for cells in fitted]
            last = max((place for place, text in enumerate(texts) if text), default=0)
            for place, (shown, width) in enumerate(zip(columns[: last + 1], widths, strict=False)):
                is_padded = place < last or shown.column.number
                text = padded(texts[place], width, shown.column.number) if is_padded else texts[place]
                parts += [_GAP if place else "\n", (text, shown.styles[row])]
    return Text.assemble(*parts)


def _folded(columns: Sequence[_Shown]) -> RichTable:
    """A table for a terminal too narrow for the keys and a single value: cells take several lines."""
    table = RichTable(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for shown in columns:
        table.add_column(
            shown.column.heading, justify="right" if shown.column.number else "left", overflow="fold"
        )
    for row in range(len(columns[0].cells)):
        table.add_row(*(Text(shown.cells[row], style=shown.styles[row]) for shown in columns))
    return table
