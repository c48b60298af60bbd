"""Losses by name for a run of tests.factory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from bench.measure import rank_tables, write_parquet
from bench.measure.rank_tables import TABLES, Writer
from bench.records.run_spec import RunSpec


def add_named_losses(run: Path, *names: str) -> None:
    """Write 20 steps of each loss for every rank; the loss of a step is 1 / (step + 1)."""
    spec = RunSpec.from_json(json.loads((run / "run.json").read_text(encoding="utf-8"))["spec"])
    for rank in range(spec.world_size):
        rows = [(step, name, 1 / (step + 1)) for name in names for step in range(20)]
        writer = Writer(node=rank // spec.ranks_per_node, local_task=0, rank=rank)
        rank_tables.append(run, "named_losses", writer, np.array(rows, TABLES["named_losses"]))
    write_parquet.write_rank_tables(run, run, (spec.session_id, spec.run_id, spec.attempt))
    for raw in run.glob("named_losses*.raw"):
        raw.unlink()
