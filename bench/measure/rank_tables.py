"""Rows of a rank in addition to its steps: its place, timed collectives and multiplications, profiles, and steps timed
from outside.

Each rank, or its agent for it, appends to files on node-local disk, so that no row is lost if the run ends early; the
agent converts them to Parquet (bench/measure/write_parquet.py). bench/records/parquet_tables.py lists the columns.
Every table has the columns `rank` and `node`, whose values are in the file's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.common.files import append_whole
from bench.records.parquet_tables import PARQUET_TABLES

_OF_RANKS = (
    "collectives",
    "matmuls",
    "profile",
    "profile_collectives",
    "profile_groups",
    "pauses",
    "selfcheck",
    "wire_steps",
    "rank_places",
)
_TEXT_BYTES = {"gpu_uuid": 64, "cpus": 4096}
"""Longest text of a column, if not 32."""
_NUMPY_TYPES = {"INTEGER": "<i8", "BIGINT": "<i8", "DOUBLE": "<f8"}
TABLES = {
    table: np.dtype(
        [
            (name, _NUMPY_TYPES.get(column.sql_type, f"S{_TEXT_BYTES.get(name, 32)}"))
            for name, column in PARQUET_TABLES[table].items()
            if name not in ("rank", "node")
        ]
    )
    for table in _OF_RANKS
}
"""Columns of each table, except `rank` and `node`. Text is ASCII, empty if unknown; an unknown number is -1, or NaN."""
UNKNOWN = -1

_NAME = re.compile(rf"({'|'.join(TABLES)})\.node(\d+)\.task(\d+)\.rank(\d+)\.raw")


@dataclass(frozen=True, kw_only=True, order=True)
class Writer:
    """The rank, and its agent, that wrote a file."""

    node: int
    local_task: int
    """Index of the agent among those of the node."""
    rank: int


@dataclass(frozen=True, kw_only=True)
class Written:
    """A file of one rank."""

    table: str
    writer: Writer
    rows: np.ndarray[Any, np.dtype[Any]]
    """[rows] of TABLES[table], in the order of writing."""


def append(folder: Path, table: str, writer: Writer, rows: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Add rows of TABLES[table]."""
    with (folder / _name(table, writer)).open("ab", buffering=0) as file:
        append_whole(file, rows.astype(TABLES[table], copy=False).tobytes())


def _name(table: str, writer: Writer) -> str:
    return f"{table}.node{writer.node}.task{writer.local_task}.rank{writer.rank}.raw"


def read(folder: Path) -> Iterator[Written]:
    """Every file in `folder`, sorted by table, node, agent and rank. An incomplete last row is ignored."""
    named = [(match, path) for path in folder.glob("*.raw") if (match := _NAME.fullmatch(path.name))]
    found = [(match[1], Writer(**_place(match)), path) for match, path in named]
    for table, writer, path in sorted(found):
        raw, dtype = path.read_bytes(), TABLES[table]
        whole = raw[: len(raw) // dtype.itemsize * dtype.itemsize]
        yield Written(table=table, writer=writer, rows=np.frombuffer(whole, dtype=dtype))


def _place(match: re.Match[str]) -> dict[str, int]:
    return {"node": int(match[2]), "local_task": int(match[3]), "rank": int(match[4])}
