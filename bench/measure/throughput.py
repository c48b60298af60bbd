"""A finished run's throughput from its files, as the table run_summary says it: a test holds both together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.records.run_spec import RunSpec

_Array = np.ndarray[Any, np.dtype[np.int64]]


def throughput(folder: Path, run: RunSpec) -> float | None:
    """Examples/s of an ok run whose Parquet files lie in `folder`; null while rows of a rank are missing there."""
    files = sorted(folder.glob("steps.node*.parquet"))
    if not files:
        return None
    table = pa.concat_tables([_measured(path) for path in files])
    rank, step, start_ns, step_ns = (table[name].to_numpy().astype(np.int64) for name in _COLUMNS)
    ranks, row_of = np.unique(rank, return_inverse=True)
    if len(ranks) != run.world_size:
        return None
    end_ns = start_ns + step_ns
    spans = _largest(row_of, end_ns) + _largest(row_of, -start_ns)
    for validated in _validated(folder):
        spans -= _pauses(row_of, step, start_ns, end_ns, validated)
    longest_ns = int(spans.max())
    steps = int(np.bincount(row_of).min())
    return run.global_batch * steps / (longest_ns / 1e9) if longest_ns > 0 else None


_COLUMNS = ("rank", "step", "start_ns", "step_ns")


def _measured(path: Path) -> pa.Table:
    """Without the schema's own types: a file of another node may have narrower ones."""
    return pq.read_table(path, columns=list(_COLUMNS), filters=[("kind", "=", "measured")])


def _validated(folder: Path) -> list[int]:
    """Steps before which ranks validated."""
    path = folder / "evals.parquet"
    return sorted(set(pq.read_table(path, columns=["step"])["step"].to_pylist())) if path.exists() else []


def _largest(row_of: _Array, values: _Array) -> _Array:
    """By rank."""
    largest = np.full(row_of.max() + 1, np.iinfo(np.int64).min)
    np.maximum.at(largest, row_of, values)
    return largest


def _pauses(row_of: _Array, step: _Array, start_ns: _Array, end_ns: _Array, validated: int) -> _Array:
    """By rank, from the last rank's end of the step before to its own begin of the next; none at either end of the
    measured steps."""
    pauses = np.zeros(row_of.max() + 1, np.int64)
    before, after = step == validated - 1, step == validated
    if before.any():
        pauses[row_of[after]] = start_ns[after] - end_ns[before].max()
    return pauses
