"""Checks of Parquet files before DuckDB reads them: whose they are, and whether their columns can be loaded."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analysis import plausible, schema
from analysis.fields import BadFileError
from analysis.rows import check_version

_COLUMN = re.compile(r"^    (\w+) (VARCHAR|INTEGER|BIGINT|DOUBLE)", re.MULTILINE)
PATH_COLUMN = "path_of_this_file"
"""What load has DuckDB add, with the file that a row comes from."""
AGAIN = "put it back; or remove its run's folder, and `bench suite --resume SESSION` measures that run again"
"""The remedy for what is lost of a run's files."""
_KEYS = ("session_id", "run_id", "attempt")
_FEW_ROWS, _ROWS_PER_BYTE = 1_000_000, 4
_SHORT_TEXTS_BYTES, _LONGEST_TEXT_BYTES = 2**20, 64
"""Of a column of text: its names of kinds and operations stand once in a row group, or once a row."""


@cache
def table_columns(table: str) -> dict[str, str]:
    """Column -> SQL type of a table that is filled from Parquet, without the keys that stand in file metadata."""
    found = _COLUMN.findall(schema.text(table))
    return {column: sql_type for column, sql_type in found if column not in _KEYS}


def table_of(path: Path) -> str:
    """The table that a file's name stands for. Raises BadFileError where it is none of ours."""
    table = path.name.split(".")[0]
    if table not in schema.PARQUET_TABLES:
        raise BadFileError(
            f"no file of ours has this name ({', '.join(schema.PARQUET_TABLES)} have): move it away"
        )
    return table


def check(path: Path, session_id: str, run_id: str, attempt: int) -> tuple[list[str], int]:
    """Columns to load from a file, and how many rows it has. Raises BadFileError where it is broken, foreign, misplaced
    or too new."""
    table = table_of(path)
    try:
        footer = pq.read_metadata(path)
        found = footer.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise BadFileError(f"not a complete Parquet file ({_first_line(error)}): {AGAIN}") from error
    _check_owner(found.metadata or {}, {"session_id": session_id, "run_id": run_id, "attempt": str(attempt)})
    _check_size(footer, path.stat().st_size)
    present = _check_columns(found, table)
    wanted = table_columns(table)
    plausible.check(footer, table, {name: wanted[name] for name in present})
    return present, footer.num_rows


def _check_owner(metadata: dict[bytes, bytes], owner: dict[str, str]) -> None:
    version = metadata.get(b"schema_version", b"").decode(errors="replace")
    if not version.isdecimal() or len(version) > 8:
        raise BadFileError("carries no schema_version: not written by scalebench: move it away")
    check_version(int(version))
    for name, wanted in owner.items():
        found = metadata.get(name.encode(), b"").decode(errors="replace")
        if found != wanted:
            raise BadFileError(
                f"its {name} is {found!r} but it lies with {wanted!r}: put it back where it belongs"
            )


def _check_size(found: pq.FileMetaData, size_bytes: int) -> None:
    """Refuses a small file that would grow without end. Measured times differ from step to step, and take bytes."""
    if found.num_rows > _FEW_ROWS + _ROWS_PER_BYTE * size_bytes:
        raise BadFileError(
            f"declares {found.num_rows:,} rows in {size_bytes:,} bytes: not a file of measured rows: remove it"
        )
    for number in range(found.num_row_groups):
        group = found.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            most = _SHORT_TEXTS_BYTES + _LONGEST_TEXT_BYTES * group.num_rows
            if column.physical_type == "BYTE_ARRAY" and column.total_uncompressed_size > most:
                raise BadFileError(
                    f"column {column.path_in_schema} holds {column.total_uncompressed_size:,} bytes of text for "
                    f"{group.num_rows:,} rows: not a file of ours: remove it"
                )


def _check_columns(found: pa.Schema, table: str) -> list[str]:
    wanted = table_columns(table)
    names = [name.lower() for name in found.names]  # DuckDB tells no column from another by capitals
    twice = ", ".join(name for name in wanted if names.count(name) > 1)
    if twice:
        raise BadFileError(f"has column {twice} more than once: not a file of ours: remove it")
    if PATH_COLUMN in names:
        raise BadFileError(
            f"has a column {PATH_COLUMN}, which load itself adds: not a file of ours: remove it"
        )
    present = [name for name in wanted if name in found.names]
    if table == "steps" and len(present) < len(wanted):
        missing = ", ".join(name for name in wanted if name not in present)
        raise BadFileError(f"has no column {missing}: not a file of step rows")
    for name in present:
        if not _fits(found.field(name).type, wanted[name]):
            raise BadFileError(f"column {name} is {found.field(name).type}, not {wanted[name]}")
    return present


def _fits(found: pa.DataType, wanted: str) -> bool:
    """Whether every value of the type can be stored in a column of the SQL type."""
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_null(found):
        return True
    if wanted == "VARCHAR":
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    whole = pa.types.is_integer(found) and not pa.types.is_uint64(found)
    return bool(whole or (wanted == "DOUBLE" and pa.types.is_floating(found)))


def unreadable(path: Path) -> str | None:
    """Why a file's rows cannot be read, by reading all of them; null where they can."""
    try:
        for batch in pq.ParquetFile(path).iter_batches():
            batch.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        return f"its rows cannot be read ({_first_line(error)}): {AGAIN}"
    return None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["unknown reason"])[0][:120]
