"""A table as plain text, for `bench sql`: columns side by side, cut to the terminal's width or whole."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from rich.cells import cell_len

from analysis.tables.column import Column
from analysis.tables.line_breaks import CUT, distinct, wrapped
from analysis.tables.table import Table
from analysis.wording.plain_text import cell, printable

_CUTS = (60, 50, 40, 32, 26, 22, 18)
"""Widths to which texts are cut, until all columns fit."""


def padded(text: str, width: int, right: bool) -> str:
    """Pad with spaces to `width` columns of a terminal; East Asian characters take two."""
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def query_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """The rows that a query returned, with every column, even if all its values are null."""
    return Table(rows=rows, keys=[_column(rows, i, name) for i, name in enumerate(names)], values=())


def _column(rows: Sequence[Sequence[Any]], place: int, name: str) -> Column:
    known = [row[place] for row in rows if row[place] is not None]
    is_number = all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in known)
    return Column(name, lambda row: cell(row[place]), number=bool(known) and is_number)


def layout(table: Table, width: int | None) -> str:
    """Lines of text; blocks of `name  value` lines if the table is wider than `width` columns (null: any width)."""
    headings, lines, widths = _texts(table)
    if width is not None and _total(widths) > width:
        return _blocks(headings, lines, width)
    return _drawn(table, headings, lines, widths)


def cut_layout(table: Table, width: int) -> str:
    """Lines of at most `width` columns: long texts are cut, and the last columns are left out. If so, a last line says
    it. Numbers are never cut."""
    headings, lines, widths = _texts(table)
    if _total(widths) <= width:
        return _drawn(table, headings, lines, widths)
    is_number = [column.number for column in table.columns()]

    def cut_to(most: int) -> list[int]:
        return [
            own if numeric else min(own, max(most, cell_len(heading)))
            for own, numeric, heading in zip(widths, is_number, headings, strict=True)
        ]

    most = next((most for most in _CUTS if _total(cut_to(most)) <= width), _CUTS[-1])
    cut = cut_to(most)
    count = max((n for n in range(1, len(cut) + 1) if _total(cut[:n]) <= width), default=1)
    cut = cut[:count] if count > 1 else [min(cut[0], width)]
    spare = width - _total(cut)
    for place in range(count):
        more = max(0, min(spare, widths[place] - cut[place]))
        cut[place] += more
        spare -= more
    shown = [list(map(_cut, line, cut)) for line in lines]
    text = _drawn(table, list(map(_cut, headings, cut)), shown, cut)
    left_out = len(widths) - count
    said = [
        *(
            ["long texts are cut"]
            if any(own > fitted for own, fitted in zip(widths, cut, strict=False))
            else []
        ),
        *([f"{left_out:,} more column{'s are' if left_out > 1 else ' is'} not shown"] if left_out else []),
    ]
    return f"{text}\n({' and '.join(said)}: --full shows all)"


def _texts(table: Table) -> tuple[list[str], list[list[str]], list[int]]:
    """Headings, the cells of each row, and the width of each column."""
    lines = [list(map(printable, line)) for line in table.lines()]
    headings = [printable(column.heading) for column in table.columns()]
    return headings, lines, [max(map(cell_len, texts)) for texts in zip(headings, *lines, strict=True)]


def _drawn(
    table: Table, headings: Sequence[str], lines: Sequence[Sequence[str]], widths: Sequence[int]
) -> str:
    """The first columns of the table, as many as there are widths."""
    right = [column.number for column in table.columns()][: len(widths)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "  ".join(map(padded, line, widths, right)).rstrip() for line in [headings, rule, *lines]
    )


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _cut(text: str, width: int) -> str:
    """A text of at most `width` columns. A name loses its middle, because its end may distinguish it from others."""
    if " " not in text:
        return (distinct([text], width) or [text])[0]
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[:-1]
    return f"{text.rstrip()}{CUT}"


def _blocks(names: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> str:
    """A block of lines for each row; a long value continues below its beginning."""
    longest = max(map(cell_len, names))
    blocks = []
    for number, row in enumerate(cells, 1):
        blocks.append(f"-- row {number}")
        for name, value in zip(names, row, strict=True):
            first, *more = wrapped(value, max(width - longest - 2, _CUTS[-1]))
            blocks.append(f"{padded(name, longest, right=False)}  {first}".rstrip())
            blocks += [f"{' ' * longest}  {line}" for line in more]
    return "\n".join(blocks)
