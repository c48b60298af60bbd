"""Profiled steps with exact figures for sessions of tests.factory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.measure import rank_tables, write_parquet
from bench.measure.rank_tables import TABLES, Writer
from bench.records.run_spec import RunSpec
from bench.records.vocabulary import SCHEMA_VERSION

Figures = tuple[float, float, float, float]
"""Figures of a step, in ms: the step, communication, exposed communication, compute."""
Ops = Mapping[str, tuple[int, int, int]]
"""op -> calls, bytes, ns of a rank in a step."""
Groups = Mapping[str, tuple[int, int, int, int, int]]
"""Description of a process group -> its ranks, calls, bytes, ns, and ns without computation, of a rank in a step."""


def add_profile(
    session: Path,
    figures: Callable[[RunSpec, int], Figures | None],
    ops: Ops,
    steps: int = 2,
    groups: Groups | None = None,
) -> None:
    """Write profiled steps with `figures(spec, rank)` for every ok run; runs with None get no such step."""
    for run_json in sorted(session.glob("*/run.json")):
        run = json.loads(run_json.read_text(encoding="utf-8"))
        spec = RunSpec.from_json(run["spec"])
        if run["outcome"]["status"] != "ok" or figures(spec, 0) is None:
            continue
        folder = run_json.parent
        for rank in range(spec.world_size):
            writer = Writer(node=rank // spec.ranks_per_node, local_task=0, rank=rank)
            times = tuple(round(1_000_000 * ms) for ms in figures(spec, rank) or ())
            rows = [(100 + step, *times) for step in range(steps)]
            of_ops = [(100 + step, op, *said) for step in range(steps) for op, said in ops.items()]
            rank_tables.append(folder, "profile", writer, np.array(rows, TABLES["profile"]))
            rank_tables.append(
                folder, "profile_collectives", writer, np.array(of_ops, TABLES["profile_collectives"])
            )
            of_groups = [
                (100 + step, name, name, *said)
                for step in range(steps)
                for name, said in (groups or {}).items()
            ]
            if of_groups:
                rank_tables.append(
                    folder, "profile_groups", writer, np.array(of_groups, TABLES["profile_groups"])
                )
        write_parquet.write_rank_tables(folder, folder, (spec.session_id, spec.run_id, spec.attempt))
        for raw in folder.glob("profile*.raw"):
            raw.unlink()


def add_timeline(session: Path) -> None:
    """Write a timeline of one step for every ok run. It has 8 slices of 1 ms: each rank
    computes 6 ms, and communicates 2 ms, the first of which lies behind computation. Rank 1 begins 1 ms later."""
    compute, communication, exposed = [1] * 6 + [0, 0], [0] * 5 + [1, 1, 0], [0] * 6 + [1, 0]
    for run_json in sorted(session.glob("*/run.json")):
        run = json.loads(run_json.read_text(encoding="utf-8"))
        spec = RunSpec.from_json(run["spec"])
        if run["outcome"]["status"] != "ok":
            continue
        rows = [
            {
                "rank": rank, "node": rank // spec.ranks_per_node, "step": 100, "slice": number,
                "begin_ns": 1_000_000 * (number + (rank == 1)), "slice_ns": 1_000_000,
                "compute_ns": 1_000_000 * compute[number], "communication_ns": 1_000_000 * communication[number],
                "exposed_communication_ns": 1_000_000 * exposed[number],
            }
            for rank in range(spec.world_size)
            for number in range(8)
        ]  # fmt: skip
        owner = {"session_id": spec.session_id, "run_id": spec.run_id, "attempt": str(spec.attempt)}
        owner |= {"node": "0", "schema_version": str(SCHEMA_VERSION)}
        schema = write_parquet.arrow_schema("profile_timeline", owner)
        pq.write_table(
            pa.Table.from_pylist(rows, schema=schema), run_json.parent / "profile_timeline.parquet"
        )


def without_synchronisation(session: Path, run_id: str, first_step: int) -> None:
    """Mark the run's steps from `first_step` on as steps without synchronisation."""
    path = session / run_id / "steps.node0.parquet"
    table = pq.read_table(path)
    alone = pc.greater_equal(table["step"], first_step)
    kinds = pc.if_else(alone, pa.scalar("no_sync"), table["kind"].cast(pa.string()))
    at = table.schema.get_field_index("kind")
    metadata = pq.read_schema(path).metadata
    pq.write_table(table.set_column(at, "kind", kinds).replace_schema_metadata(metadata), path)
