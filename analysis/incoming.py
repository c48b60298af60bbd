"""The rows that a load takes in next stand before the tables: what derived/ reads as `steps`, `samples` ...

They are views over the files themselves: a copy of some million rows would take more memory than all else."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import duckdb
import pyarrow as pa

from analysis import links, parquet, schema
from analysis.batch import ParquetFile
from analysis.shadows import Shadows, shadows
from analysis.sql_words import literal

_PATTERN = re.compile(r"[*?\[\\]")
_OWNERS = "incoming_files"


@contextmanager
def of_files(connection: duckdb.DuckDBPyConnection, files: Sequence[ParquetFile]) -> Iterator[Shadows]:
    """Of some runs' files, with the rows of `runs` that they belong to."""
    with plain([file.path for file in files]) as paths, shadows(connection) as found:
        named = list(zip(paths, files, strict=True))
        connection.register(_OWNERS, owners(named))
        of_these = f"SEMI JOIN {_OWNERS} USING (session_id, run_id, attempt)"
        found.lay("VIEW", "runs", f"FROM {found.stored('runs')} {of_these}")
        for table in schema.PARQUET_TABLES:
            of_table = [one for one in named if one[1].table == table]
            found.lay("VIEW", table, rows_of(of_table, table) or f"FROM {found.stored(table)} LIMIT 0")
        yield found
        connection.unregister(_OWNERS)


def owners(files: Sequence[tuple[str, ParquetFile]]) -> pa.Table:
    """The rows of `incoming_files`: each path and whose run its rows are of."""
    return pa.Table.from_pylist(
        [
            {"path": path, "session_id": file.session_id, "run_id": file.run_id, "attempt": file.attempt}
            for path, file in files
        ]
    )


def rows_of(files: Sequence[tuple[str, ParquetFile]], table: str) -> str:
    """The query for a table's rows in files; it reads whose they are from `incoming_files`. Empty without a file."""
    parts = [
        schema.text("rows_of_files").format(
            paths=f"[{', '.join(literal(path) for path, _ in found)}]",
            columns=", ".join(_columns(table, columns)),
            path_column=parquet.PATH_COLUMN,
        )
        for columns, found in (
            (columns, list(group))
            for columns, group in groupby(sorted(files, key=_columns_of), key=_columns_of)
        )
    ]
    return " UNION ALL ".join(parts)


def _columns_of(named: tuple[str, ParquetFile]) -> list[str]:
    return named[1].columns


def _columns(table: str, present: Sequence[str]) -> Iterator[str]:
    """Every column of the table, null where these files have none of the name."""
    for name, sql_type in parquet.table_columns(table).items():
        value = f"file.{name}" if name in present else "NULL"
        yield f"{value}::{sql_type} AS {name}"


@contextmanager
def plain(paths: list[str]) -> Iterator[list[str]]:
    """The paths, with a link in place of each that DuckDB would take for a pattern, also in a list.

    Not every name can be escaped: `a\\b[c` cannot, nor any pattern beside a folder `\\a`."""
    if not any(map(_PATTERN.search, paths)):
        yield paths
        return
    with tempfile.TemporaryDirectory(dir=links.folder()) as folder:
        found = []
        for number, path in enumerate(paths):
            link = Path(folder) / f"{number}.parquet"
            if _PATTERN.search(path):
                link.symlink_to(path)
            found.append(str(link) if link.is_symlink() else path)
        yield found
