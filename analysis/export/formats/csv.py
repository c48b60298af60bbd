"""RFC 4180 in UTF-8: every digit, null as an empty field, lists and structures as JSON text."""

from __future__ import annotations

from typing import BinaryIO

import duckdb
import polars as pl
import pyarrow as pa

from analysis.database import arrow
from analysis.export.format_types import Rows
from analysis.sql import output

_FORMULA = r"^[=+\-@\t\r\n]"
_NUMBER = r"^[+-]?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$"


def _write(relation: duckdb.DuckDBPyRelation, stream: BinaryIO) -> None:
    reader = arrow.reader(relation)
    head = pa.RecordBatch.from_pylist([], schema=reader.schema)
    stream.write(_text(head, include_header=True))
    for batch in output.batches(reader):
        stream.write(_text(batch, include_header=False))


def _text(batch: pa.RecordBatch, *, include_header: bool) -> bytes:
    """The batch as CSV. Polars must not write into the stream: it would hide that a pipe is closed."""
    return _frame(batch).write_csv(include_header=include_header, line_terminator="\r\n").encode()


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    """The batch, with an apostrophe before text that begins with = + - @ and is not a number: a spreadsheet would read
    it as a formula. The report's CSV files do the same."""
    frame = pl.DataFrame(pl.from_arrow(output.flat(batch)))
    text = pl.col(pl.String)
    is_formula = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    return frame.with_columns(pl.when(is_formula).then(pl.lit("'") + text).otherwise(text).name.keep())


FORMAT = Rows(write=_write)
