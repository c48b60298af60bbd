"""Sessions of runs that measure the machine: no steps, but rows of `collectives` or `matmuls`, with exact numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.measure.machine.bandwidth import algorithm_gbps, bus_factor
from bench.records.run_spec import RunSpec
from tests.factory import Case
from tests.factory_tables import write_parquet

Rows = list[dict[str, Any]]

_COLLECTIVES = pa.schema(
    [
        ("rank", pa.int32()),
        ("node", pa.int32()),
        ("op", pa.string()),
        ("iteration", pa.int64()),
        ("message_bytes", pa.int64()),
        ("time_ns", pa.int64()),
        ("computation_ns", pa.int64()),
        ("cpu_ns", pa.int64()),
        ("algorithm_gbps", pa.float64()),
        ("bus_gbps", pa.float64()),
    ]
)
_MATMULS = pa.schema(
    [
        ("rank", pa.int32()),
        ("node", pa.int32()),
        ("precision", pa.string()),
        ("iteration", pa.int64()),
        ("m", pa.int64()),
        ("n", pa.int64()),
        ("k", pa.int64()),
        ("time_ns", pa.int64()),
        ("flops_per_s", pa.float64()),
    ]
)


def machine_case(name: str, worlds: Sequence[int], *, workload: str = "collectives", **others: Any) -> Case:
    """A case for tests.factory.make_session whose runs have no steps: `add_collectives`, `add_matmuls` write rows."""
    return Case(
        name=name,
        workload=workload,
        strategy="process_group",
        scaling="none",
        step_ms=dict.fromkeys(worlds, 0.0),
        warmup=0,
        steps=0,
        batch=1,
        accuracy=None,
        **others,
    )


def add_collectives(
    session: Path,
    time_ns: Callable[[RunSpec, str, int], float],
    *,
    ops: Sequence[str] = ("all_reduce",),
    sizes: Sequence[int] = (1024, 1_048_576),
    iterations: int = 3,
    after_computation_ns: Callable[[RunSpec, str, int, int], float] | None = None,
) -> None:
    """Write rows for every ok run of `collectives`: each iteration of each rank takes
    `time_ns(spec, op, message_bytes)`; after computation `after_computation_ns(spec, op, message_bytes, iteration)`,
    without which there are no such rows."""

    def rows(spec: RunSpec) -> Iterator[dict[str, Any]]:
        for op in ops:
            for size in sizes:
                for iteration in range(iterations):
                    took = round(time_ns(spec, op, size))
                    gbps = algorithm_gbps(size, took)
                    yield {
                        "op": op,
                        "iteration": iteration,
                        "message_bytes": size,
                        "time_ns": took,
                        "algorithm_gbps": gbps,
                        "bus_gbps": gbps * bus_factor(op, spec.world_size),
                    }
                    if after_computation_ns is not None:
                        yield {
                            "op": op,
                            "iteration": iteration,
                            "message_bytes": size,
                            "time_ns": round(after_computation_ns(spec, op, size, iteration)),
                            "computation_ns": 5_000_000,
                        }

    _add(session, "collectives", _COLLECTIVES, rows)


def add_matmuls(
    session: Path,
    time_ns: Callable[[RunSpec, int], float],
    *,
    sizes: Sequence[int] = (512, 1024),
    iterations: int = 3,
) -> None:
    """Write rows for every ok run of `matmul`: n x n matrices take `time_ns(spec, n)` per iteration on each rank."""

    def rows(spec: RunSpec) -> Iterator[dict[str, Any]]:
        for size in sizes:
            for iteration in range(iterations):
                took = round(time_ns(spec, size))
                yield {
                    "precision": spec.train.precision,
                    "iteration": iteration,
                    "m": size,
                    "n": size,
                    "k": size,
                    "time_ns": took,
                    "flops_per_s": 2 * size**3 / (took / 1e9),
                }

    _add(session, "matmuls", _MATMULS, rows, workload="matmul")


def _add(
    session: Path,
    table: str,
    schema: pa.Schema,
    rows: Callable[[RunSpec], Iterator[dict[str, Any]]],
    *,
    workload: str = "collectives",
) -> None:
    for path in sorted(session.glob("*/run.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        spec = RunSpec.from_json(run["spec"])
        if spec.workload != workload or run["outcome"]["status"] != "ok":
            continue
        for node in range(spec.nodes):
            ranks = range(node * spec.ranks_per_node, (node + 1) * spec.ranks_per_node)
            found: Rows = [{"rank": rank, "node": node, **row} for rank in ranks for row in rows(spec)]
            file = path.parent / f"{table}.node{node}.parquet"
            write_parquet(file, pa.Table.from_pylist(found, schema=schema), spec, node)
