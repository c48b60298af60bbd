"""Waits between the stages of a pipeline, with exact figures, for a run of tests.factory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from bench.measure import rank_tables, write_parquet
from bench.measure.rank_tables import TABLES, Writer
from bench.records.run_spec import RunSpec


def add_pipeline_steps(run: Path, *, pipeline_ms: float, idle_share: tuple[float, ...]) -> None:
    """Write the steps of every rank: `pipeline_ms` of forward and backward, of which it waits its own `idle_share`."""
    spec = RunSpec.from_json(json.loads((run / "run.json").read_text(encoding="utf-8"))["spec"])
    steps = spec.measure.warmup + (spec.measure.steps or 0)
    for rank in range(spec.world_size):
        waits = round(pipeline_ms * 1e6 * idle_share[rank])
        rows = [(step, round(pipeline_ms * 1e6), waits) for step in range(steps)]
        writer = Writer(node=rank // spec.ranks_per_node, local_task=0, rank=rank)
        rank_tables.append(run, "pipeline_steps", writer, np.array(rows, TABLES["pipeline_steps"]))
    write_parquet.write_rank_tables(run, run, (spec.session_id, spec.run_id, spec.attempt))
    for raw in run.glob("pipeline_steps*.raw"):
        raw.unlink()
