"""Change what a made session measured: single columns of a run's step files, by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.factory import write_json
from tests.factory_tables import STEP_SCHEMA


def rewrite_steps(folder: Path, run_id: str, columns: Mapping[str, Any], *, node: int = 0) -> None:
    """Replace columns of a node's step rows; each value is [ranks of the node, steps], or broadcasts to it."""
    path = folder / run_id / f"steps.node{node}.parquet"
    metadata = pq.read_schema(path).metadata
    table = pq.read_table(path)
    ranks = len(set(table.column("rank").to_pylist()))
    for name, values in columns.items():
        shaped = np.broadcast_to(np.asarray(values, dtype=object), (ranks, table.num_rows // ranks))
        column = pa.array(shaped.reshape(-1).tolist(), STEP_SCHEMA.field(name).type)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    pq.write_table(table.replace_schema_metadata(metadata), path)


def drop_steps(folder: Path, run_id: str, dropped: set[int], *, node: int = 0) -> None:
    """Remove these steps from a node's rows on all its ranks, as if the ranks had not completed them."""
    path = folder / run_id / f"steps.node{node}.parquet"
    metadata = pq.read_schema(path).metadata
    table = pq.read_table(path)
    kept = [step not in dropped for step in table.column("step").to_pylist()]
    pq.write_table(table.filter(pa.array(kept)).replace_schema_metadata(metadata), path)
    run = json.loads((folder / run_id / "run.json").read_text())
    run["outcome"]["steps_completed"] -= len(dropped)
    write_json(folder / run_id / "run.json", run)
