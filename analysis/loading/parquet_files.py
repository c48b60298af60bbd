"""Check Parquet files before DuckDB reads them: which run they belong to, and whether their values can be loaded.

Only a file's footer is read. It normally has the smallest and largest value of each column; otherwise DuckDB finds the
values that do not fit."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.loading.json_files import BadFileError, check_version
from analysis.loading.scan import table_of
from bench.records.parquet_tables import PARQUET_TABLES, Column

PATH_COLUMN = "path_of_this_file"
"""Column that DuckDB adds during a load: the file that a row comes from."""
RESTORE = "put it back; or remove its run's folder and resume the session, which measures that run again"
"""Advice if rows of a run are lost."""
_LARGEST = {"INTEGER": 2**31 - 1, "BIGINT": 10**17}
"""Derived tables add up such values, and the sums must not overflow. 10^17 ns are three years; 10^17 bytes, 100 PB."""
_FEW_ROWS, _ROWS_PER_BYTE = 1_000_000, 4
_SHORT_TEXTS_BYTES, _LONGEST_TEXT_BYTES = 2**20, 64
"""Limits on a text column. A file stores each kind or operation once per row group, or once per row."""


def check(path: Path, session_id: str, run_id: str, attempt: int) -> tuple[list[str], int]:
    """The columns to load from a file, and its number of rows.

    Raises BadFileError if the file is broken, misplaced, too new or not written by scalebench."""
    table = table_of(path)
    try:
        footer = pq.read_metadata(path)
        schema = footer.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise BadFileError(f"not a complete Parquet file ({_first_line(error)}): {RESTORE}") from error
    _check_owner(schema.metadata or {}, {"session_id": session_id, "run_id": run_id, "attempt": str(attempt)})
    _check_size(footer, path.stat().st_size)
    columns = _check_columns(schema, table)
    _check_values(footer, table, columns)
    return columns, footer.num_rows


def _check_owner(metadata: dict[bytes, bytes], owner: dict[str, str]) -> None:
    version = metadata.get(b"schema_version", b"").decode(errors="replace")
    if not version.isdecimal() or len(version) > 8:
        raise BadFileError("carries no schema_version: not written by scalebench: move it away")
    check_version(int(version))
    for name, wanted in owner.items():
        found = metadata.get(name.encode(), b"").decode(errors="replace")
        if found != wanted:
            raise BadFileError(
                f"its {name} is {found!r} but it is in the folder of {wanted!r}: put it back where it belongs"
            )


def _check_size(footer: pq.FileMetaData, size_bytes: int) -> None:
    """Refuse a small file that declares huge contents: measured times differ between steps, so they need space."""
    if footer.num_rows > _FEW_ROWS + _ROWS_PER_BYTE * size_bytes:
        raise BadFileError(
            f"declares {footer.num_rows:,} rows in {size_bytes:,} bytes: not a file of measured rows: remove it"
        )
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        largest = _SHORT_TEXTS_BYTES + _LONGEST_TEXT_BYTES * group.num_rows
        for place in range(group.num_columns):
            column = group.column(place)
            if column.physical_type == "BYTE_ARRAY" and column.total_uncompressed_size > largest:
                raise BadFileError(
                    f"column {column.path_in_schema} holds {column.total_uncompressed_size:,} bytes of text for "
                    f"{group.num_rows:,} rows: not written by scalebench: remove it"
                )


def _check_columns(schema: pa.Schema, table: str) -> list[str]:
    """The table's columns that the file has."""
    wanted = PARQUET_TABLES[table]
    names = [name.lower() for name in schema.names]  # DuckDB ignores case
    if twice := ", ".join(name for name in wanted if names.count(name) > 1):
        raise BadFileError(f"has column {twice} more than once: not written by scalebench: remove it")
    if PATH_COLUMN in names:
        raise BadFileError(
            f"has a column {PATH_COLUMN}, which load itself adds: not written by scalebench: remove it"
        )
    present = [name for name in wanted if name in schema.names]
    if table == "steps" and len(present) < len(wanted):
        missing = ", ".join(name for name in wanted if name not in present)
        raise BadFileError(f"has no column {missing}: not a file of step rows")
    for name in present:
        found, sql_type = schema.field(name).type, wanted[name].sql_type
        if not _fits(found, sql_type):
            raise BadFileError(f"column {name} is {found}, not {sql_type}")
    return present


def _fits(found: pa.DataType, sql_type: str) -> bool:
    """Whether a column of the SQL type can store every value of the Arrow type."""
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_null(found):
        return True
    if sql_type == "VARCHAR":
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    is_whole = pa.types.is_integer(found) and not pa.types.is_uint64(found)
    return bool(is_whole or (sql_type == "DOUBLE" and pa.types.is_floating(found)))


def _check_values(footer: pq.FileMetaData, table: str, columns: list[str]) -> None:
    """Raise BadFileError for the first column with an impossible value."""
    if table == "steps" and footer.num_rows == 0:
        raise BadFileError("has no rows: remove it, or run it again")
    places = {footer.schema.column(place).path: place for place in range(footer.num_columns)}
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for name in columns:
            if name in places and (statistics := group.column(places[name]).statistics) is not None:
                _check_statistics(statistics, name, PARQUET_TABLES[table][name])


def _check_statistics(found: pq.Statistics, name: str, column: Column) -> None:
    if column.required and found.has_null_count and found.null_count:
        raise BadFileError(f"column {name} is null in some rows: not a file of measured rows: remove it")
    if not found.has_min_max:
        return
    low, high = found.min, found.max
    for value in (low, high) if column.choices else ():
        if value not in column.choices:
            raise BadFileError(
                f"column {name} holds {str(value)[:60]!r}, none of {', '.join(column.choices)}: remove it"
            )
    if column.sql_type in _LARGEST and not column.is_mask:
        largest = _LARGEST[column.sql_type]
        smallest = -largest if column.signed else 0
        if low < smallest:
            raise BadFileError(
                f"column {name} holds {low:,}, below {smallest:,}: no measured value: remove it"
            )
        if high > largest:
            raise BadFileError(
                f"column {name} holds {high:,}, above {largest:,}: no measured value: remove it"
            )


def unreadable(path: Path) -> str | None:
    """Read all rows of a file. Returns why that fails, or None."""
    try:
        for batch in pq.ParquetFile(path).iter_batches():
            batch.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        return f"its rows cannot be read ({_first_line(error)}): {RESTORE}"
    return None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["unknown reason"])[0][:120]
