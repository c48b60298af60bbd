"""Write a query's rows as a table, CSV, JSON or Parquet, batch by batch."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO

import duckdb

from analysis.database import arrow
from analysis.errors import AnalysisError
from analysis.tables import text_layout

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN = {
    *(
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
    ),
    *("FLOAT", "DOUBLE", "VARCHAR", "JSON"),
}
"""Types that DuckDB's fetchall returns without loss. It rounds intervals, times and infinite dates; Arrow does not."""


def write_table(
    relation: duckdb.DuckDBPyRelation,
    stream: BinaryIO,
    *,
    rows: int = 40,
    width: int | None = None,
    full: bool = False,
) -> None:
    """Write the first `rows` rows (0: all) as a table, and how many are not shown. The table is cut to the terminal's
    `width` [default: no limit]; with `full` a row that is too wide is a block of lines instead."""
    first = relation.limit(rows + 1) if rows else relation
    is_plain = all(str(kind) in _PLAIN for kind in relation.types)
    fetched = (
        first.fetchall() if is_plain else _rows(first)
    )  # importing PyArrow takes longer than most queries
    shown = [[_without_zero_decimals(value) for value in row] for row in fetched]
    total = len(shown)
    if rows and total > rows:
        shown = shown[:rows]
        ((total,),) = relation.aggregate("count(*)").fetchall()
    table = text_layout.query_table(relation.columns, shown)
    text = text_layout.layout(table, width) if full or width is None else text_layout.cut_layout(table, width)
    if total == 0:
        text += "\n(no rows)"
    elif total > len(shown):
        text += f"\n({total - len(shown):,} of {total:,} rows are not shown: --rows 0 shows all)"
    stream.write(f"{text}\n".encode())


def _without_zero_decimals(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value


def write_csv(relation: duckdb.DuckDBPyRelation, stream: BinaryIO) -> None:
    """Write CSV with a header; lists and structures are JSON text, null is empty."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    reader = arrow.reader(relation)
    first = pa.RecordBatch.from_pylist([], schema=reader.schema)
    with pa_csv.CSVWriter(stream, flat(first).schema) as writer:
        for batch in batches(reader):
            writer.write_batch(flat(batch))


def batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches of a query. Raises AnalysisError if it fails after the first ones: PyArrow's error is an OSError."""
    try:
        yield from reader
    except OSError as error:
        raise AnalysisError(f"query failed: {error}") from error


def flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with JSON text in columns of nested types, intervals and bytes, which CSV does not have."""
    import pyarrow as pa

    columns = [
        pa.array([None if v is None else json.dumps(_json_value(v)) for v in column.to_pylist()], pa.string())
        if _is_complex(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _is_complex(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind) or pa.types.is_interval(kind) or pa.types.is_binary(kind))


def write_json(relation: duckdb.DuckDBPyRelation, stream: BinaryIO) -> None:
    """Write an array with one object per row, one row per line. NaN and infinities become null: JSON lacks them. If
    columns share a name, the second one becomes `NAME_1`: an object would keep only the last."""
    names = _different(relation.columns)
    nested = [str(kind) == "JSON" for kind in relation.types]
    separator = b"[\n"
    for row in _rows(relation):
        values = (
            json.loads(v) if is_json and v else _json_value(v) for v, is_json in zip(row, nested, strict=True)
        )
        line = json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False, allow_nan=False)
        stream.write(separator + line.encode())
        separator = b",\n"
    stream.write(b"[]\n" if separator == b"[\n" else b"\n]\n")


def _different(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        others = (f"{name}_{number}" for number in itertools.count(1))
        found.append(next(one for one in itertools.chain([name], others) if one not in found))
    return found


def _rows(relation: duckdb.DuckDBPyRelation) -> Iterator[tuple[Any, ...]]:
    for batch in batches(arrow.reader(relation)):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list) or type(value) is tuple:  # an entry of a MAP is a pair
        return [_json_value(item) for item in value]
    return _json_scalar(value)


def _json_scalar(value: Any) -> str | int | float | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, tuple):  # PyArrow's INTERVAL: months, days, nanoseconds; as ISO 8601 writes it
        return f"P{value[0]}M{value[1]}DT{Decimal(value[2]) / 10**9:f}S"
    return value.hex() if isinstance(value, bytes) else str(value)


def write_parquet(relation: duckdb.DuckDBPyRelation, stream: BinaryIO) -> None:
    """Write Parquet. Raises AnalysisError if a column's type is not in Parquet, or if the output is a terminal."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if stream.isatty():
        raise AnalysisError("Parquet is not for a terminal: give --out FILE, or redirect it")
    reader = arrow.reader(relation)
    try:
        with pq.ParquetWriter(stream, reader.schema, compression="zstd") as writer:
            for batch in batches(reader):
                writer.write_batch(batch)
    except pa.ArrowNotImplementedError as error:
        raise AnalysisError(
            f"Parquet cannot hold a column of this result: {error}: cast it in the query"
        ) from error


WRITERS: dict[str, Callable[[duckdb.DuckDBPyRelation, BinaryIO], None]] = {
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
}
