"""The kinds of formats: rows of any view, a table to read, or pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

import duckdb

from analysis.export.content import Content


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Exports the rows of the summary, or of any table or view, with every digit."""

    write: Callable[[duckdb.DuckDBPyRelation, BinaryIO], None]


@dataclass(frozen=True, kw_only=True)
class Page:
    """Exports the summary as a table to read."""

    write: Callable[[Content], str]


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Exports every chart as a file."""

    write: Callable[[str, str], bytes]
    """Takes an SVG and a sentence on its origin; returns the file's bytes, which `is_ours` recognises."""
    is_ours: Callable[[bytes], bool]
    """Whether this format wrote a file with these bytes."""


Format = Rows | Page | Pictures
