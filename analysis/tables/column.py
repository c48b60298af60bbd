"""A column of a table, for every format: terminal, page, Markdown, LaTeX, picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from analysis.database.rows import Row
from analysis.wording.plain_text import cell, number

Tone = Literal["", "good", "fair", "bad", "alarm", "weak"]
"""The meaning of a cell's colour; the words in the cell say the same."""


@dataclass(frozen=True)
class Column:
    """A heading and how to write the cell of a row."""

    heading: str
    """Includes the unit if the cells do not."""
    cell: Callable[[Any], str]
    """Returns the text of a row's cell, empty without a value; a page's cell may be markup. Columns never escape: each
    format's writer does that once."""
    number: bool = False
    """The cells are aligned right, with digits of equal width."""
    needs: tuple[str, ...] = ()
    """The column is shown only if a row has a value in one of these fields."""
    untrusted: bool = False
    """The cells are names chosen by others: Markdown and LaTeX quote them as code, a terminal may cut them."""
    wraps: bool = False
    """The cells are words, which may take several lines on a narrow terminal."""
    tone: Callable[[Any], Tone] = lambda _row: ""
    """The colour of a row's cell on a terminal."""


def shown(columns: Sequence[Column], rows: Sequence[Row]) -> list[Column]:
    """The columns for which these rows have values."""
    return [
        column
        for column in columns
        if not column.needs or any(row[name] is not None for row in rows for name in column.needs)
    ]


def text_of(name: str) -> Callable[[Any], str]:
    """Show a row's value of that name as it is."""
    return lambda row: cell(row[name])


def number_of(name: str, digits: int = 4, factor: float = 1) -> Callable[[Any], str]:
    """Show the row's number `name`, multiplied by `factor`, with `digits` significant digits."""
    return lambda row: (
        "" if row[name] is None else number(factor * row[name], digits, strip=False).replace("-", "\u2212")
    )
