"""`measure.until` and `until_efficiency`: which cases get another round of repeats, after every run has ended."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.common.files import read_json
from bench.plan.plan import baseline_of, by_size, in_round, repeats_of_cases
from bench.records.run_spec import REPEATS_BEFORE_STOP, PlannedRun, RunSpec
from bench.records.t_interval import half_width_of_stopped
from bench.records.vocabulary import COMMAND, RunOrder

_Array = np.ndarray[Any, np.dtype[np.int64]]
_COLUMNS = ("rank", "step", "start_ns", "step_ns")


class Rounds:
    """The rounds that a session adds. Each is one more repeat of every size of the cases whose intervals are too wide,
    and of their baselines: speedup is estimated within rounds."""

    def __init__(self, session: Path, run_order: RunOrder) -> None:
        self._session = session
        self._run_order = run_order
        self._throughputs: dict[str, float] = {}
        """Examples/s, by run."""
        self._ok: set[str] = set()
        """Runs that are known to be ok; they stay so."""

    def further(self, plan: tuple[PlannedRun, ...]) -> tuple[PlannedRun, ...]:
        """The runs of the next round, in the plan's order; empty if all intervals are narrow enough."""
        sizes, repeats = by_size(plan), repeats_of_cases(plan)
        growing = [
            runs for runs in sizes if len(runs) < repeats[runs[0].spec.case_name].most and self._are_ok(runs)
        ]
        wide = set()
        for runs in growing:
            if self._is_too_wide(runs) or self._is_ratio_too_wide(runs, sizes, growing):
                wide |= {runs[0].spec.case_name, baseline_of(runs[0].spec)}
        more = [_next_repeat(runs[-1]) for runs in growing if runs[0].spec.case_name in wide]
        number = 1 + max((run.spec.round or 0 for run in plan), default=0)
        return tuple(in_round(number, more, self._run_order))

    def _is_too_wide(self, runs: list[PlannedRun]) -> bool:
        """Whether the interval of the size's throughput is wider than measure.until."""
        until = runs[0].spec.measure.until
        if until is None:
            return False
        return _is_wider(list(self._logs(runs).values()), until)

    def _is_ratio_too_wide(
        self, runs: list[PlannedRun], sizes: list[list[PlannedRun]], growing: list[list[PlannedRun]]
    ) -> bool:
        """Whether the interval of the ratio to the baseline, from differences within rounds, is wider than
        measure.until_efficiency.

        False if the baseline can have no more repeats: without them there are no more differences. The table
        scaling defines it in SQL; a test compares both. Unlike there, means are not compared if too few rounds
        have both: more rounds will."""
        until = runs[0].spec.measure.until_efficiency
        if until is None:
            return False
        baseline = self._baseline(runs[0].spec, sizes)
        if baseline is runs or not any(baseline is others for others in growing):
            return False
        here, there = self._logs(runs), self._logs(baseline)
        differences = [value - there[number] for number, value in here.items() if number in there]
        return _is_wider(differences, until)

    def _baseline(self, spec: RunSpec, sizes: list[list[PlannedRun]]) -> list[PlannedRun]:
        """The runs of the baseline's smallest size with a known throughput, as `scaling` chooses it; empty if none."""

        def order(runs: list[PlannedRun]) -> tuple[int, ...]:
            size = runs[0].spec
            return size.workers, size.nodes, size.ranks_per_node, size.threads

        of_case = [runs for runs in sizes if runs[0].spec.case_name == baseline_of(spec)]
        return next((runs for runs in sorted(of_case, key=order) if self._logs(runs)), [])

    def _logs(self, runs: list[PlannedRun]) -> dict[int | None, float]:
        """ln(examples/s) by round, of each ok run whose rows are known."""
        found = ((run, self._throughput(run)) for run in runs if self._is_ok(run))
        return {run.spec.round: math.log(value) for run, value in found if value is not None}

    def _are_ok(self, runs: list[PlannedRun]) -> bool:
        """Whether the size may have another repeat; one that ran out of memory or failed may not."""
        return all(run.skip_reason is None and self._is_ok(run) for run in runs)

    def _is_ok(self, run: PlannedRun) -> bool:
        run_id = run.spec.run_id
        path = self._session / run_id / "run.json"
        if run_id not in self._ok and path.exists() and read_json(path)["outcome"]["status"] == "ok":
            self._ok.add(run_id)
        return run_id in self._ok

    def _throughput(self, run: PlannedRun) -> float | None:
        """Examples/s, read once; null if another node's rows are not visible yet: then it is read in the next round."""
        run_id = run.spec.run_id
        if run_id not in self._throughputs:
            found = throughput(self._session / run_id, run.spec)
            if found is None:
                return None
            self._throughputs[run_id] = found
        return self._throughputs[run_id]


def _is_wider(logs: Sequence[float], until: float) -> bool:
    """Whether the interval of their middle is wider; also if they are too few to stop, as when rows are missing."""
    width = half_width_of_stopped(logs)
    return len(logs) < REPEATS_BEFORE_STOP or width is None or width > until


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
    if run.workload_options.get("pauses") != "count":
        for resumed in _resumed_steps(folder):
            spans -= _pauses(row_of, step, start_ns, end_ns, resumed, is_command=run.workload == COMMAND)
    longest_ns = int(spans.max())
    steps = int(np.bincount(row_of).min())
    examples = _examples_per_step(folder)
    return examples * steps / (longest_ns / 1e9) if examples and longest_ns > 0 else None


def _resumed_steps(folder: Path) -> set[int]:
    """The steps that follow a validation, or a pause of a command whose kind is known."""
    files = [*folder.glob("evals.parquet"), *folder.glob("pauses.node*.parquet")]
    return {step for file in files for step in pq.read_table(file, columns=["step"])["step"].to_pylist()}


def _examples_per_step(folder: Path) -> float:
    """Examples that throughput counts; 0 if a command's are not known."""
    stored = read_json(folder / "run.json")
    counted: float | None = stored["outcome"].get("examples_per_step")
    batch: int = stored["spec"]["global_batch"]
    return batch if counted is None else counted


def _largest(row_of: _Array, values: _Array) -> _Array:
    """The largest value of each rank."""
    largest = np.full(row_of.max() + 1, np.iinfo(np.int64).min)
    np.maximum.at(largest, row_of, values)
    return largest


def _pauses(
    row_of: _Array, step: _Array, start_ns: _Array, end_ns: _Array, resumed: int, *, is_command: bool
) -> _Array:
    """Pause of each rank before the step `resumed` in ns, from the last rank's end of the step before to its own next
    begin; in a command, where one rank may pause alone, to the last rank's begin, but not beyond its own step.

    Before the first measured step only this waiting is in a rank's span."""
    pauses = np.zeros(row_of.max() + 1, np.int64)
    before, after = step == resumed - 1, step == resumed
    begins = start_ns[after]
    if is_command and after.any():
        begins = np.minimum(begins.max(), end_ns[after])
    pauses[row_of[after]] = begins - (end_ns[before].max() if before.any() else start_ns[after])
    return pauses
