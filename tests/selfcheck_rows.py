"""Steps that show the recorder's overhead, with exact figures, for runs of tests.factory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.measure import rank_tables, write_parquet
from bench.measure.rank_tables import TABLES, Writer
from bench.records.run_spec import RunSpec


def add_selfcheck(run: Path, *, pairs: int, bare_ms: float, added_us: Callable[[int, int], float]) -> None:
    """Write `pairs` pairs of steps. `added_us(pair, rank)` is the extra time of a pair's instrumented step; the bare
    step comes first in every other pair."""
    spec = RunSpec.from_json(json.loads((run / "run.json").read_text(encoding="utf-8"))["spec"])
    first = spec.measure.warmup + (spec.measure.steps or 0)
    for rank in range(spec.world_size):
        rows = []
        for pair in range(pairs):
            times = {"bare": bare_ms * 1e6, "instrumented": bare_ms * 1e6 + added_us(pair, rank) * 1e3}
            for at, kind in enumerate(sorted(times, reverse=pair % 2 == 1)):
                rows.append((first + 2 * pair + at, pair, kind, round(times[kind])))
        writer = Writer(node=rank // spec.ranks_per_node, local_task=0, rank=rank)
        rank_tables.append(run, "selfcheck", writer, np.array(rows, TABLES["selfcheck"]))
    write_parquet.write_rank_tables(run, run, (spec.session_id, spec.run_id, spec.attempt))
    for raw in run.glob("selfcheck*.raw"):
        raw.unlink()
