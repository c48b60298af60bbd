"""Rows and their columns: a table that terminal, Markdown, LaTeX and pictures each write in their own way.

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
    """Columns that identify a row; the parts of a split table repeat them."""
    values: Sequence[Column]
    """All other columns."""

    def columns(self) -> list[Column]:
        """The columns that are shown: all keys, and values with at least one cell."""
        filled = [column for column in self.values if any(column.cell(row) for row in self.rows)]
        return [*self.keys, *filled]

    def lines(self) -> list[list[str]]:
        """The cells of `columns()`, row by row."""
        columns = self.columns()
        return [[column.cell(row) for column in columns] for row in self.rows]
