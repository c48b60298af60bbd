"""Pauses in the runs of a made session, as the probe of a command records them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.records.parquet_tables import PARQUET_TABLES
from tests.rewriting import rewrite_steps

MS = 1_000_000


def of_rows(path: Path, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The column of step rows: [ranks, steps]."""
    table = pq.read_table(path)
    ranks = len(set(table.column("rank").to_pylist()))
    found: np.ndarray[Any, np.dtype[np.int64]] = table.column(name).to_numpy().astype(np.int64)
    return found.reshape(ranks, -1)


def stall(folder: Path, run_id: str, ms: Mapping[int, float], rank: int = 0) -> None:
    """Make steps longer: on this rank in no phase, on the others in backward, where they wait for it."""
    path = folder / run_id / "steps.node0.parquet"
    start, step, backward = (of_rows(path, name) for name in ("start_ns", "step_ns", "backward_ns"))
    for number, longer in ms.items():
        step[:, number] += round(longer * MS)
        start[:, number + 1 :] += round(longer * MS)
        others = [other for other in range(len(step)) if other != rank]
        backward[others, number] += round(longer * MS)
    rewrite_steps(folder, run_id, {"start_ns": start, "step_ns": step, "backward_ns": backward})


def pause(folder: Path, run_id: str, ms: Mapping[int, Mapping[str, float]]) -> None:
    """Let all ranks pause before steps: by the step's number, the kinds of its pause with their times."""
    path = folder / run_id / "steps.node0.parquet"
    metadata, start = pq.read_schema(path).metadata, of_rows(path, "start_ns")
    rows = []
    for number, kinds in ms.items():
        start[:, number:] += round(sum(kinds.values()) * MS)
        rows += [
            {"rank": rank, "node": 0, "step": number, "kind": kind, "pause_ns": round(longer * MS)}
            for rank in range(len(start))
            for kind, longer in kinds.items()
        ]
    rewrite_steps(folder, run_id, {"start_ns": start})
    types = {"INTEGER": pa.int32(), "BIGINT": pa.int64(), "VARCHAR": pa.string()}
    schema = pa.schema({name: types[column.sql_type] for name, column in PARQUET_TABLES["pauses"].items()})
    table = pa.Table.from_pylist(rows, schema=schema).replace_schema_metadata(metadata)
    pq.write_table(table, folder / run_id / "pauses.node0.parquet")
