"""Steps with longer and shorter messages, with exact figures, for a run of tests.factory."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench.measure import rank_tables, write_parquet
from bench.measure.rank_tables import TABLES, Writer
from bench.records.run_spec import RunSpec


def add_wire_steps(
    run: Path, *, factors: Sequence[float], rounds: int, step_ms: Callable[[float, int, int], float]
) -> None:
    """Write `rounds` rounds. `step_ms(factor, round, rank)` is the duration of a step."""
    spec = RunSpec.from_json(json.loads((run / "run.json").read_text(encoding="utf-8"))["spec"])
    first = spec.measure.warmup + (spec.measure.steps or 0)
    places = [(number, factor) for number in range(rounds) for factor in factors]
    for rank in range(spec.world_size):
        rows = [
            (first + at, number, factor, round(step_ms(factor, number, rank) * 1e6))
            for at, (number, factor) in enumerate(places)
        ]
        writer = Writer(node=rank // spec.ranks_per_node, local_task=0, rank=rank)
        rank_tables.append(run, "wire_steps", writer, np.array(rows, TABLES["wire_steps"]))
    write_parquet.write_rank_tables(run, run, (spec.session_id, spec.run_id, spec.attempt))
    for raw in run.glob("wire_steps*.raw"):
        raw.unlink()
