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
    """The summary as a person reads it."""

    write: Callable[[Content], str]


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """The summary and every chart, a file for each."""

    write: Callable[[str, str], bytes]
    """From an SVG, and a sentence on where it comes from, to a file's bytes; both hold what is in `is_ours`."""
    is_ours: Callable[[bytes], bool]
    """Whether a file's bytes were written by this."""


Format = Rows | Page | Pictures
