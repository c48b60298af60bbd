"""Rows and their columns: a table as terminal, Markdown, LaTeX and pictures write it, each in its own way.

Exports with every digit (CSV, JSON, Parquet) write the rows of the database as they are, without columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.tables.column import Column


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of any type that the columns understand, in the order in which they are shown."""

    rows: Sequence[Any]
    keys: Sequence[Column]
    """Columns that say which row it is; a table that is split repeats them."""
    values: Sequence[Column]
    """All other columns."""

    def columns(self) -> list[Column]:
        """The columns that are shown: all keys, and the values that have at least one cell."""
        filled = [column for column in self.values if any(column.cell(row) for row in self.rows)]
        return [*self.keys, *filled]

    def lines(self) -> list[list[str]]:
        """The cells of `columns()`, row by row."""
        columns = self.columns()
        return [[column.cell(row) for column in columns] for row in self.rows]
