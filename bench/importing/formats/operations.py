"""Operations of a pipeline-parallel training as ByteDance's StragglerAnalysis publishes them: one Parquet file per job.

Columns: dp_rank, stage, rank, step, optype, start_ts and duration in seconds, seq_id, mc, mb_id, gmc. A row is one
operation of one worker: a stage of one replica, whose tensor-parallel ranks have one common trace. The columns and what
follows on what are described in https://github.com/ByteDance-Seed/StragglerAnalysis (Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.common.errors import InputError
from bench.importing.formats.profiled_run import ProfiledRun, replay_rows
from bench.importing.replay import Nanoseconds, Operation, Replay, WhatIf, even_durations

_LARGEST_S = 1e10
"""Seconds since 1970 reach it in 2286."""
_LONGEST_STEP_S = 1e6
_MOST_MISSING = 10
"""Operations of all steps ÷ rows: with more, the table of them would need much more memory than the file."""
_LARGEST_NUMBER = 2**31 - 1
LARGEST_ROWS = 20_000_000
_COLUMNS = ("dp_rank", "stage", "step", "optype", "start_ts", "duration", "seq_id", "mc")
_COMPUTE = ("forward-compute", "backward-compute")
_AMONG_REPLICAS = ("params-all-gather", "grads-reduce-scatter")
_MESSAGES = ("forward-send", "forward-recv", "backward-send", "backward-recv")
_EMBEDDING, _LAYERNORM = "embedding-grads-all-reduce", "layernorm-grads-all-reduce"
_CLIP = "optimizer-clip-main-grad"
_ALONE = ("gc", "optimizer")
_TRANSFERS = (*_AMONG_REPLICAS, *_MESSAGES, _EMBEDDING, _LAYERNORM, _CLIP)
_KNOWN = (*_COMPUTE, *_TRANSFERS, *_ALONE)
_NEXT_STAGE = {"forward-send": ("forward-recv", 1), "backward-send": ("backward-recv", -1)}

Key = tuple[int, int, str, int]
"""Replica, stage, kind, number: an operation of a step."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job's operations: the steps in which every worker has all of them."""

    steps: tuple[int, ...]
    replicas: int
    stages: int
    keys: tuple[Key, ...]
    begins: Nanoseconds
    """[operations, steps], from the begin of the step"""
    durations: Nanoseconds
    """[operations, steps]"""

    @property
    def measured_ns(self) -> Nanoseconds:
        """[steps] First begin to last end."""
        found: Nanoseconds = (self.begins + self.durations).max(axis=0) - self.begins.min(axis=0)
        return found


def read(path: Path) -> Job:
    """Raises InputError if the file is damaged, lacks a column, or has no step with all operations."""
    try:
        with path.open("rb") as opened:  # pyarrow takes no name that is not UTF-8
            file = pq.ParquetFile(opened)
            _check_shape(path.name, file)
            table = file.read(columns=list(_COLUMNS))
        numbers = {
            name: table[name].combine_chunks().cast(pa.int64()).to_numpy(zero_copy_only=False)
            for name in ("dp_rank", "stage", "step", "seq_id", "mc")
        }
        times = {
            name: table[name].cast(pa.float64()).to_numpy(zero_copy_only=False)
            for name in ("start_ts", "duration")
        }
        kinds = np.array(table["optype"].cast(pa.string()).to_pylist(), dtype=object)
    except (pa.ArrowException, OSError, UnicodeDecodeError, KeyError) as error:  # KeyError: a column twice
        raise InputError(f"{path.name}: the Parquet file cannot be read: {str(error)[:200]}") from error
    _refuse_unknown(path.name, numbers, times, kinds)
    return _job(path.name, numbers, times, kinds)


def _check_shape(name: str, file: pq.ParquetFile) -> None:
    missing = [column for column in _COLUMNS if column not in file.schema_arrow.names]
    if missing:
        raise InputError(
            f"{name}: no column {', '.join(missing)}: a Parquet file must have one row per operation, as "
            "StragglerAnalysis writes them"
        )
    if file.metadata.num_rows > LARGEST_ROWS:
        raise InputError(
            f"{name}: {file.metadata.num_rows:,} rows are too many: give a file of fewer steps, with at most "
            f"{LARGEST_ROWS:,} rows"
        )


def _refuse_unknown(name: str, numbers: dict[str, Any], times: dict[str, Any], kinds: Any) -> None:
    if not len(kinds):
        raise InputError(f"{name}: no rows")
    if odd := sorted({str(kind)[:40] for kind in set(kinds) - set(_KNOWN)}):
        raise InputError(
            f"{name}: unknown kind of operation: {', '.join(odd[:5])}; known: {', '.join(_KNOWN)}"
        )
    for column, values in (*numbers.items(), *times.items()):
        may_be_negative = column in ("start_ts", "mc")  # an operation of no model chunk has the number -1
        if not np.isfinite(values).all() or (not may_be_negative and values.min() < 0):
            raise InputError(f"{name}: column {column}: a value is missing, below zero or not finite")
    if max(np.abs(values).max() for values in times.values()) > _LARGEST_S:
        raise InputError(f"{name}: columns start_ts and duration: a time is beyond {_LARGEST_S:.0e} s")
    if numbers["mc"].max() > 0:
        raise InputError(f"{name}: several model chunks per stage (column mc): only one is supported")


def _job(name: str, numbers: dict[str, Any], times: dict[str, Any], kinds: Any) -> Job:
    steps, step_index = np.unique(numbers["step"], return_inverse=True)
    index: dict[Key, int] = {}
    workers = zip(numbers["dp_rank"], numbers["stage"], kinds, numbers["seq_id"], strict=True)
    rows = np.array([index.setdefault((int(r), int(s), k, int(q)), len(index)) for r, s, k, q in workers])
    replicas, stages = int(numbers["dp_rank"].max()) + 1, int(numbers["stage"].max()) + 1
    if replicas * stages > len(index):
        raise InputError(
            f"{name}: {replicas:,} replicas of {stages:,} stages, but only {len(index):,} operations in a step"
        )
    if len(index) * len(steps) > _MOST_MISSING * len(rows):
        raise InputError(f"{name}: in most steps most workers have not all operations")
    begins = np.full((len(index), len(steps)), np.nan)
    durations = begins.copy()
    begins[rows, step_index], durations[rows, step_index] = times["start_ts"], times["duration"]
    if len(rows) != len(np.unique(rows * len(steps) + step_index)):
        raise InputError(f"{name}: two rows have the same dp_rank, stage, step, optype and seq_id")
    whole = ~np.isnan(begins).any(axis=0)
    if not whole.any():
        raise InputError(f"{name}: in no step does every worker have all operations")
    begins, durations = 1e9 * begins[:, whole], 1e9 * durations[:, whole]
    begins -= begins.min(axis=0)
    if (begins + durations).max() > 1e9 * _LONGEST_STEP_S:
        raise InputError(
            f"{name}: a step takes more than {_LONGEST_STEP_S:.0e} s: its times are not of one clock"
        )
    return Job(
        steps=tuple(int(step) for step in steps[whole]),
        replicas=replicas,
        stages=stages,
        keys=tuple(index),
        begins=begins,
        durations=durations,
    )


def what_if(name: str, job: Job) -> WhatIf:
    """Raises InputError if the operations do not fit together."""
    operations = list(_operations(name, job))
    durations = _own_durations(operations, job)
    transfers = {kind: kind in _TRANSFERS for kind in _KNOWN}
    try:
        replay = Replay(operations)
    except ValueError as error:
        raise InputError(f"{name}: {error}: the order of its operations is not that of a pipeline") from error
    return replay.what_if(durations, even_durations(operations, durations, transfers))


def _own_durations(operations: Sequence[Operation], job: Job) -> Nanoseconds:
    """Durations without waiting: a transfer counts from the moment when its last part begins."""
    found = job.durations.copy()
    groups: dict[Any, list[int]] = {}
    for index, each in enumerate(operations):
        if each.meets is not None:
            groups.setdefault(each.meets, []).append(index)
    for members in groups.values():
        last = job.begins[members].max(axis=0)
        found[members] = np.maximum(job.begins[members] + job.durations[members] - last, 0)
    return found


def _operations(name: str, job: Job) -> Iterator[Operation]:
    """Every operation with what it follows. The order within a stage is that of its first replica in the first step."""
    number = {key: index for index, key in enumerate(job.keys)}
    follows: list[list[int]] = [[] for _ in job.keys]
    for stage in range(job.stages):
        chains = list(_chains(name, job, stage))
        for replica in range(job.replicas):
            for before, after in chains:
                try:
                    follows[number[replica, stage, *after]].append(number[replica, stage, *before])
                except KeyError as missing:
                    raise InputError(
                        f"{name}: replica {replica}, stage {stage} has not all operations of replica 0"
                    ) from missing
    for index, (replica, stage, kind, sequence) in enumerate(job.keys):
        yield Operation(
            kind=kind,
            worker=replica * job.stages + stage,
            after=tuple(follows[index]),
            meets=_transfer_of(replica, stage, kind, sequence),
        )


def _transfer_of(replica: int, stage: int, kind: str, sequence: int) -> tuple[Any, ...] | None:
    """The key of the transfer that an operation is part of; null if it is part of none."""
    if kind in _AMONG_REPLICAS:
        return kind, stage, sequence
    if kind == _EMBEDDING:
        return kind, replica, sequence
    if kind == _CLIP:
        return kind, sequence
    for send, (receive, step) in _NEXT_STAGE.items():
        if kind in (send, receive):
            sender = stage if kind == send else stage - step
            return send, replica, sender, sequence
    return None


Part = tuple[str, int]
"""Kind and number of an operation of one worker."""


def _chains(name: str, job: Job, stage: int) -> Iterator[tuple[Part, Part]]:
    """(earlier, later) of one worker of the stage."""
    there = [
        (float(job.begins[index, 0]), kind, sequence)
        for index, (replica, of_stage, kind, sequence) in enumerate(job.keys)
        if replica == 0 and of_stage == stage
    ]
    in_order = [
        (kind, sequence) for _, kind, sequence in sorted(there, key=lambda one: (one[0], one[2], one[1]))
    ]
    computing = [part for part in in_order if part[0] in _COMPUTE]
    if not computing:
        raise InputError(f"{name}: stage {stage} computes nothing")
    yield from _chain(computing)
    for kind in _MESSAGES:
        yield from _chain([part for part in in_order if part[0] == kind])
    for kind, sequence in in_order:
        direction, _, end = kind.partition("-")
        compute = f"{direction}-compute"
        if end == "send":
            yield (compute, sequence), (kind, sequence)
        elif end == "recv":
            yield (kind, sequence), (compute, sequence)
            if sequence:  # a worker asks for the next message when it has used the last
                yield (compute, sequence - 1), (kind, sequence)
    first_backward = next((at for at, part in enumerate(computing) if part[0] == "backward-compute"), 0)
    if first_backward >= 2:  # the first messages backward begin while the last forward computes
        for part in (("backward-recv", 0), ("backward-send", 0)):
            if part in in_order:
                yield computing[first_backward - 2], part
    gathers = [part for part in in_order if part[0] == "params-all-gather"]
    scatters = [part for part in in_order if part[0] == "grads-reduce-scatter"]
    yield from _chain(gathers)
    if gathers:
        yield gathers[-1], next(part for part in computing if part[0] == "forward-compute")
    ends = [part for kind in (_LAYERNORM, _EMBEDDING) for part in in_order if part[0] == kind]
    last = [part for kind in (_CLIP, "optimizer") for part in in_order if part[0] == kind]
    collecting = [part for part in in_order if part[0] == "gc"]
    yield from _chain([computing[-1], *collecting, *ends, *scatters, *last])


def _chain(parts: Sequence[Part]) -> Iterator[tuple[Part, Part]]:
    yield from pairwise(parts)


def run_of(path: Path, case: str, world: int | None) -> ProfiledRun:
    """The run of a file of operations. Raises InputError."""
    job = read(path)
    workers = job.replicas * job.stages
    if world is None:
        raise InputError(
            f"{path.name}: the number of ranks is unknown, since a worker can be several tensor-parallel ranks: add "
            f"--world N, a multiple of its {workers} workers"
        )
    if world % workers:
        raise InputError(
            f"--world {world}: {path.name} has {workers} workers of equally many ranks: give a multiple of {workers}"
        )
    if max(job.steps) > _LARGEST_NUMBER:
        raise InputError(f"{path.name}: column step: a number is above {_LARGEST_NUMBER:,}")
    answer = what_if(path.name, job)
    names = [f"{worker // job.stages}/{worker % job.stages}" for worker in answer.slowest]
    rows = list(replay_rows(job.steps, job.measured_ns, answer, names))
    if not rows:
        raise InputError(
            f"{path.name}: replayed, its steps take {answer.replayed_ns.mean() / 1e9:.4g} s instead of "
            f"{job.measured_ns.mean() / 1e9:.4g} s: work or waits are in no row: export all operations of the steps"
        )
    return ProfiledRun(
        place=path.name,
        case=case,
        world_size=world,
        nodes=1,
        device_type=None,
        ranks=world,
        tables={"profile_replays": rows},
    )
