"""A table as plain text, for `bench sql`: columns side by side or, if that is too wide, a block for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from analysis.tables.column import Column
from analysis.tables.table import Table
from analysis.wording.plain_text import cell, printable


def padded(text: str, width: int, right: bool) -> str:
    """Pad with spaces to `width` columns of a terminal; East Asian characters take two."""
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def query_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """The rows that a query returned, with every column, even if all its values are null."""
    return Table(rows=rows, keys=[_column(rows, i, name) for i, name in enumerate(names)], values=())


def _column(rows: Sequence[Sequence[Any]], place: int, name: str) -> Column:
    known = [row[place] for row in rows if row[place] is not None]
    is_number = all(isinstance(v, int | float) and not isinstance(v, bool) for v in known)
    return Column(name, lambda row: cell(row[place]), number=bool(known) and is_number)


def layout(table: Table, width: int | None) -> str:
    """Lines of text; blocks of `name  value` lines if the table is wider than `width` columns (null: any width)."""
    columns, lines = table.columns(), [list(map(printable, line)) for line in table.lines()]
    headings = [printable(column.heading) for column in columns]
    widths = [max(map(cell_len, texts)) for texts in zip(headings, *lines, strict=True)]
    if width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        return _blocks(headings, lines)
    right = [column.number for column in columns]
    return "\n".join(
        "  ".join(map(padded, line, widths, right)).rstrip()
        for line in [headings, ["-" * width for width in widths], *lines]
    )


def _blocks(names: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    longest = max(map(cell_len, names))
    return "\n".join(
        line
        for number, row in enumerate(cells, 1)
        for line in [
            f"-- row {number}",
            *(
                f"{padded(name, longest, right=False)}  {value}"
                for name, value in zip(names, row, strict=True)
            ),
        ]
    )
