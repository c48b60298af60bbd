"""`measure.until`: which cases and sizes get another repeat, after every run of the plan has ended."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.common.files import read_json
from bench.plan.plan import by_size
from bench.records.run_spec import PlannedRun, RunSpec
from bench.records.t_interval import relative_half_width

_Array = np.ndarray[Any, np.dtype[np.int64]]
_COLUMNS = ("rank", "step", "start_ns", "step_ns")


class Rounds:
    """The rounds of one session. A round is one more repeat of every size whose interval is too wide, interleaved."""

    def __init__(self, session: Path) -> None:
        self._session = session
        self._throughputs: dict[str, float] = {}
        """Examples/s, by run."""
        self._ok: set[str] = set()
        """Runs that are known to be ok; they stay so."""

    def further(self, plan: tuple[PlannedRun, ...]) -> tuple[PlannedRun, ...]:
        """The runs of the next round, in the plan's order; empty if all intervals are narrow enough."""
        return tuple(_next_repeat(runs[-1]) for runs in by_size(plan) if self._is_too_wide(runs))

    def _is_too_wide(self, runs: list[PlannedRun]) -> bool:
        """Whether the size needs another repeat and may have one; one that ran out of memory or failed may not."""
        measure = runs[0].spec.measure
        if measure.until is None or len(runs) >= measure.most_repeats:
            return False
        for run in runs:
            run_id = run.spec.run_id
            path = self._session / run_id / "run.json"
            if run_id not in self._ok and path.exists() and read_json(path)["outcome"]["status"] == "ok":
                self._ok.add(run_id)
            if run.skip_reason is not None or run_id not in self._ok:
                return False
        known = [value for run in runs if (value := self._throughput(run)) is not None]
        width = relative_half_width(known)
        return width is None or width > measure.until

    def _throughput(self, run: PlannedRun) -> float | None:
        """Examples/s, read once; null if another node's rows are not visible yet: then it is read in the next round."""
        run_id = run.spec.run_id
        if run_id not in self._throughputs:
            found = throughput(self._session / run_id, run.spec)
            if found is None:
                return None
            self._throughputs[run_id] = found
        return self._throughputs[run_id]


def _next_repeat(run: PlannedRun) -> PlannedRun:
    repeat = run.spec.repeat + 1
    run_id = f"{run.spec.run_id.rpartition('.r')[0]}.r{repeat}"
    return dataclasses.replace(run, spec=dataclasses.replace(run.spec, run_id=run_id, repeat=repeat))


def throughput(folder: Path, run: RunSpec) -> float | None:
    """Examples/s of an ok run from its Parquet files; null while rows of a rank are missing.

    The table run_summary defines it in SQL; a test compares both."""
    files = sorted(folder.glob("steps.node*.parquet"))
    if not files:
        return None
    # without the schema's own types: a file of another node may have narrower ones
    measured = [("kind", "=", "measured")]
    table = pa.concat_tables(
        [pq.read_table(path, columns=list(_COLUMNS), filters=measured) for path in files]
    )
    rank, step, start_ns, step_ns = (table[name].to_numpy().astype(np.int64) for name in _COLUMNS)
    ranks, row_of = np.unique(rank, return_inverse=True)
    if len(ranks) != run.world_size:
        return None
    end_ns = start_ns + step_ns
    spans = _largest(row_of, end_ns) + _largest(row_of, -start_ns)
    evals = folder / "evals.parquet"
    if evals.exists():
        for validated in set(pq.read_table(evals, columns=["step"])["step"].to_pylist()):
            spans -= _pauses(row_of, step, start_ns, end_ns, validated)
    longest_ns = int(spans.max())
    steps = int(np.bincount(row_of).min())
    return _examples_per_step(folder, run) * steps / (longest_ns / 1e9) if longest_ns > 0 else None


def _examples_per_step(folder: Path, run: RunSpec) -> float:
    counted: float | None = read_json(folder / "run.json")["outcome"].get("examples_per_step")
    return run.global_batch if counted is None else counted


def _largest(row_of: _Array, values: _Array) -> _Array:
    """The largest value of each rank."""
    largest = np.full(row_of.max() + 1, np.iinfo(np.int64).min)
    np.maximum.at(largest, row_of, values)
    return largest


def _pauses(row_of: _Array, step: _Array, start_ns: _Array, end_ns: _Array, validated: int) -> _Array:
    """Pause of each rank for a validation in ns, from the last rank's end of the step before to its own next begin.

    A validation before the first or after the last measured step has no pause."""
    pauses = np.zeros(row_of.max() + 1, np.int64)
    before, after = step == validated - 1, step == validated
    if before.any():
        pauses[row_of[after]] = start_ns[after] - end_ns[before].max()
    return pauses
