"""Rows that a rank writes beside its steps: timed collectives and multiplications, what a profiler saw,
and steps that were timed from outside.

Each rank appends to files of its own on node-local disk, so that whatever ends the run later loses none; the agent
makes Parquet of them (bench/measure/finalise.py). results.duckdb-schema/ says what the columns mean; `rank` and `node`
are columns of every table and stand in the file's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.files import append_whole

_TEXT = "S32"
TABLES = {
    "collectives": np.dtype(
        [
            ("op", _TEXT),
            ("iteration", "<i8"),
            ("message_bytes", "<i8"),
            ("time_ns", "<i8"),
            ("algorithm_gbps", "<f8"),
            ("bus_gbps", "<f8"),
        ]
    ),
    "matmuls": np.dtype(
        [
            ("precision", _TEXT),
            ("iteration", "<i8"),
            ("m", "<i8"),
            ("n", "<i8"),
            ("k", "<i8"),
            ("time_ns", "<i8"),
            ("flops_per_s", "<f8"),
        ]
    ),
    "profile": np.dtype(
        [
            ("step", "<i8"),
            ("step_ns", "<i8"),
            ("communication_ns", "<i8"),
            ("exposed_communication_ns", "<i8"),
            ("compute_ns", "<i8"),
        ]
    ),
    "profile_collectives": np.dtype(
        [
            ("step", "<i8"),
            ("op", _TEXT),
            ("calls", "<i8"),
            ("message_bytes", "<i8"),
            ("time_ns", "<i8"),
        ]
    ),
    "selfcheck": np.dtype(
        [
            ("step", "<i8"),
            ("pair", "<i8"),
            ("kind", _TEXT),
            ("step_ns", "<i8"),
        ]
    ),
}
"""Columns of each table but `rank` and `node`. Text is ASCII; a number that is not known is -1, or NaN."""
UNKNOWN = -1

_NAME = re.compile(rf"({'|'.join(TABLES)})\.node(\d+)\.task(\d+)\.rank(\d+)\.raw")


@dataclass(frozen=True, kw_only=True, order=True)
class Writer:
    """Which rank of which agent a file is of."""

    node: int
    local_task: int
    """Number of its agent among those of the node."""
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
    name = f"{table}.node{writer.node}.task{writer.local_task}.rank{writer.rank}.raw"
    with (folder / name).open("ab", buffering=0) as file:
        append_whole(file, rows.astype(TABLES[table], copy=False).tobytes())


def read(folder: Path) -> Iterator[Written]:
    """Every file in `folder`, by table, node, agent and rank. A row cut off is left out."""
    named = [(match, path) for path in folder.glob("*.raw") if (match := _NAME.fullmatch(path.name))]
    found = [(match[1], Writer(**_place(match)), path) for match, path in named]
    for table, writer, path in sorted(found):
        raw, dtype = path.read_bytes(), TABLES[table]
        whole = raw[: len(raw) // dtype.itemsize * dtype.itemsize]
        yield Written(table=table, writer=writer, rows=np.frombuffer(whole, dtype=dtype))


def _place(match: re.Match[str]) -> dict[str, int]:
    return {"node": int(match[2]), "local_task": int(match[3]), "rank": int(match[4])}
