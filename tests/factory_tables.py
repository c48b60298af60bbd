"""The Parquet tables of tests/factory.py, by pyarrow, with the columns of the contract."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.records.run_spec import RunSpec
from bench.records.vocabulary import SCHEMA_VERSION

if TYPE_CHECKING:
    from tests.factory import Case

PHASES = ("data_ns", "forward_ns", "backward_ns", "optimizer_ns")
STEP_SCHEMA = pa.schema(
    [
        ("rank", pa.int32()),
        ("node", pa.int32()),
        ("step", pa.int32()),
        ("kind", pa.string()),
        ("start_ns", pa.int64()),
        ("step_ns", pa.int64()),
        *((name, pa.int64()) for name in PHASES),
        ("loss", pa.float64()),
        ("memory_allocated_bytes", pa.int64()),
        ("memory_reserved_bytes", pa.int64()),
    ]
)
SAMPLE_SCHEMA = pa.schema(
    [
        ("node", pa.int32()),
        ("device", pa.int32()),
        ("time_ns", pa.int64()),
        ("gpu_util_pct", pa.float64()),
        ("memory_used_bytes", pa.int64()),
        ("power_w", pa.float64()),
        ("energy_j", pa.float64()),
        ("temperature_c", pa.float64()),
        ("sm_clock_mhz", pa.float64()),
        ("throttle_reasons", pa.int64()),
        ("cpu_util_pct", pa.float64()),
        ("other_cpu_pct", pa.float64()),
        ("rss_bytes", pa.int64()),
    ]
)
PLACE_SCHEMA = pa.schema(
    [
        ("rank", pa.int32()),
        ("node", pa.int32()),
        ("device", pa.int32()),
        ("gpu_uuid", pa.string()),
        ("cpus", pa.string()),
    ]
)
EVAL_SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("epoch", pa.float64()),
        ("val_loss", pa.float64()),
        ("val_accuracy", pa.float64()),
        ("elapsed_s", pa.float64()),
        ("validation_s", pa.float64()),
    ]
)


def write_parquet(path: Path, table: pa.Table, spec: RunSpec, node: int = 0) -> None:
    """Write the table with metadata that names its session and run."""
    metadata = {
        "session_id": spec.session_id,
        "run_id": spec.run_id,
        "attempt": str(spec.attempt),
        "schema_version": str(SCHEMA_VERSION),
        "node": str(node),
    }
    # without compression, dictionaries and statistics: so small a file takes half of the time
    pq.write_table(
        table.replace_schema_metadata(metadata),
        path,
        compression="none",
        use_dictionary=False,
        write_statistics=False,
    )


def step_table(case: Case, spec: RunSpec, node: int, completed: int) -> pa.Table:
    """[ranks of the node x completed] rows."""
    ranks = range(node * spec.ranks_per_node, (node + 1) * spec.ranks_per_node)
    return pa.concat_tables([_rank_table(case, spec, rank, node, completed) for rank in ranks])


def _rank_table(case: Case, spec: RunSpec, rank: int, node: int, completed: int) -> pa.Table:
    random = np.random.default_rng([spec.repeat, spec.workers, rank])
    # step times must be positive
    noise = np.maximum(1 + case.jitter * random.standard_normal(completed), 0.01)
    wanted = np.rint(case.step_ms_of(spec) * 1e6 * noise).astype(np.int64)
    phases = [np.rint(wanted * share).astype(np.int64) for share in case.shares[:3]]
    phases.append(wanted - sum(phases))  # the last part absorbs rounding: the four add up
    steps = np.arange(completed, dtype=np.int32)
    last = case.warmup + (spec.measure.steps or 1) - 1
    loss = case.losses[0] + (case.losses[1] - case.losses[0]) * steps / max(last, 1)
    pauses = np.zeros(completed, dtype=np.int64)
    for step in _validated_steps(case, completed):
        pauses[step:] += round(case.validation_ms * 1e6)
    cuda = case.device_type == "cuda"
    memory = np.full(completed, case.memory_bytes, dtype=np.int64)
    columns = [
        np.full(completed, rank, dtype=np.int32),
        np.full(completed, node, dtype=np.int32),
        steps,
        np.where(steps < case.warmup, "warmup", "measured"),
        np.cumsum(wanted) - wanted + pauses,
        wanted,
        *phases,
        loss,
        pa.array(
            memory, mask=None if cuda else steps % 4 != 0
        ),  # a CPU's resident set is not read in every step
        pa.array(memory + memory // 4, mask=None if cuda else np.ones(completed, dtype=bool)),
    ]
    return pa.Table.from_arrays([pa.array(c) for c in columns], schema=STEP_SCHEMA)


def sample_table(case: Case, spec: RunSpec, node: int, completed: int) -> pa.Table:
    """Samples at 5 Hz: the host's row and one for each GPU."""
    count = int(completed * case.step_ms_of(spec) / 200) + 1
    devices = range(spec.ranks_per_node) if case.device_type == "cuda" else range(0)
    rows = [_sample(case, node, device, number) for number in range(count) for device in (None, *devices)]
    if case.found_bytes is not None:
        found = {"node": node, "time_ns": -1_000_000_000, "memory_used_bytes": case.found_bytes}
        rows = [*({**found, "device": device} for device in devices), *rows]
    return pa.Table.from_pylist(rows, schema=SAMPLE_SCHEMA)


def _sample(case: Case, node: int, device: int | None, number: int) -> dict[str, Any]:
    at = {"node": node, "device": device, "time_ns": number * 200_000_000}
    if device is None:
        host = {"cpu_util_pct": 55.0, "other_cpu_pct": case.other_cpu_pct, "rss_bytes": case.memory_bytes}
        return {**at, **host}
    return {
        **at,
        "gpu_util_pct": 92.0,
        "memory_used_bytes": case.memory_bytes,
        "power_w": 600.0,
        "energy_j": 120.0 * number,
        "temperature_c": 61.0,
        "sm_clock_mhz": 1_980.0,
        "throttle_reasons": 0,
        **case.gpu,
    }


def place_table(case: Case, spec: RunSpec, node: int) -> pa.Table:
    """Each rank of the node on a CPU and, on CUDA, a GPU of its own."""
    rows = [
        {
            "rank": node * spec.ranks_per_node + local,
            "node": node,
            "device": local if case.device_type == "cuda" else None,
            "gpu_uuid": f"GPU-{node}-{local}" if case.device_type == "cuda" else None,
            "cpus": str(local),
        }
        for local in range(spec.ranks_per_node)
    ]
    return pa.Table.from_pylist(rows, schema=PLACE_SCHEMA)


def eval_table(case: Case, spec: RunSpec, completed: int, *, whole: bool) -> pa.Table:
    """A row per validation; the last one only if the run came to its end."""
    steps = [*_validated_steps(case, completed), *([completed] if whole else [])]
    rows = [_eval(case, spec, step, number) for number, step in enumerate(steps) if case.accuracy is not None]
    return pa.Table.from_pylist(rows, schema=EVAL_SCHEMA)


def _validated_steps(case: Case, completed: int) -> range:
    """Steps before which ranks validate; not the end."""
    return range(case.validate_every, completed, case.validate_every) if case.validate_every else range(0)


def _eval(case: Case, spec: RunSpec, step: int, number: int) -> dict[str, Any]:
    done = step / (case.warmup + case.steps)
    assert case.accuracy is not None
    loss = case.losses[0] + (case.losses[1] - case.losses[0]) * done + 0.05
    if case.until_loss is not None:  # falls just below it at the target, and stays above it without one
        is_at_target = step == case.target_step.get((spec.workers, spec.repeat))
        loss = case.until_loss - 0.01 if is_at_target else max(loss, case.until_loss + 0.01)
    return {
        "step": step,
        "epoch": step * spec.global_batch / 10_000,
        "val_loss": loss,
        "val_accuracy": case.accuracy * (0.1 + 0.9 * done),
        "elapsed_s": (step * case.step_ms_of(spec) + number * case.validation_ms) / 1e3,
        "validation_s": case.validation_ms / 1e3,
    }
