"""Rows and facts from the files that the probe leaves in a rank's scratch folder."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.measure import rank_tables
from bench.measure.profile import collective_names
from bench.measure.profile.collective_names import GroupEvent, NcclKernel
from bench.measure.profile.profiled_step import (
    KINDS,
    MARK,
    Event,
    StepProfile,
    compute_intervals,
    is_nccl,
    problem_of,
    profile,
    windows,
)
from bench.measure.rank_tables import TABLES, UNKNOWN, Writer
from bench.measure.recorder import StepRows
from bench.records.run_spec import RunSpec

if TYPE_CHECKING:
    from bench.agent.ranks import RunPart

_REDUCTIONS = ("all_reduce", "reduce_scatter", "reduce", "all_to_all")
"""Collectives that can combine gradients."""


def with_a_common_zero(ranks: list[StepRows]) -> list[StepRows]:
    """Rows of a node's ranks whose times count from the same moment: the latest of their first steps' ends."""
    zero_ns = max((rows.barrier_ns for rows in ranks), default=0)
    found = []
    for rows in ranks:
        words = rows.words.copy()
        words[:, 0] += rows.barrier_ns - zero_ns
        found.append(replace(rows, barrier_ns=zero_ns, words=words))
    return found


def store(scratch: Path, part: RunPart, outcomes: Mapping[int, dict[str, Any]]) -> None:
    """Write the rows of profiled steps, of the self-check and of pauses. `outcomes`, by rank, are the probes' own; they
    get what the profiled steps show."""
    for rank, outcome in outcomes.items():
        if "command" in outcome:
            writer = Writer(node=part.node, local_task=part.local_task, rank=rank)
            facts = outcome["command"]
            facts |= store_profile(scratch, writer, part.run, facts["groups"])
            store_selfcheck(scratch, writer, part.run, outcome.pop("selfcheck"))
            _append(scratch, "pauses", writer, [tuple(pause) for pause in facts.pop("pauses")])


def store_profile(
    scratch: Path, writer: Writer, run: RunSpec, groups: Mapping[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    """Write the profiled steps of a rank as rows of `profile`, `profile_collectives` and `profile_groups`.

    `groups`: the process groups of each step, by its number. Returns `reduced_bytes`, which the rank sent in
    reductions of a step (null if no step was profiled, or if torch does not tell the bytes); `has_messages`: whether it
    exchanged messages with single ranks, as the stages of a pipeline do; and `profile_problem`, if the events do not
    show the work of the device."""
    path = scratch / f"events.rank{writer.rank}.json"
    if not path.exists():
        return {"reduced_bytes": None, "has_messages": False}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    steps = list(_profiles(lines, run.world_size))
    problem = problem_of(run.device_type, {line["kind"] for line in lines})
    for number, step in steps:
        if problem is None:
            for table, rows in step.rows(number).items():
                _append(scratch, table, writer, rows)
        _append(scratch, "profile_groups", writer, list(_groups(number, step, groups.get(str(number), []))))
    if problem is not None:
        return {"reduced_bytes": None, "has_messages": False, "profile_problem": problem}
    known = [sent for _, step in steps if (sent := _reduced_bytes(step)) is not None]
    ops = {op.lower() for _, step in steps for op in step.collectives}
    return {
        "reduced_bytes": max(known) if known and len(known) == len(steps) else None,
        "has_messages": any("send" in op or "recv" in op for op in ops),
    }


def _groups(number: int, step: StepProfile, used: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Rows of `profile_groups`. Events without a group belong to the one that was used, if it is the only one."""
    for group in used:
        total = step.groups.get(group["name"]) or (step.groups.get(None) if len(used) == 1 else None)
        known = None if total is None else total.message_bytes
        yield (
            number,
            group["name"].encode("ascii", "replace"),
            group["description"].encode("ascii", "replace"),
            len(group["ranks"]),
            group["calls"],
            UNKNOWN if known is None else known,
            UNKNOWN if total is None else total.time_ns,
            UNKNOWN if total is None else total.exposed_ns,
        )


def store_selfcheck(scratch: Path, writer: Writer, run: RunSpec, steps: list[tuple[int, str, int]]) -> None:
    """Write the pairs of steps with and without recording as rows of `selfcheck`."""
    after = run.measure.warmup + (run.measure.steps or 0)
    _append(scratch, "selfcheck", writer, [(after + number, *step) for number, step in enumerate(steps)])


def _profiles(lines: list[dict[str, Any]], world_size: int) -> Iterator[tuple[int, StepProfile]]:
    names = ("name", "kind", "begin_ns", "end_ns", "thread")
    events = [Event(**{name: line[name] for name in names}) for line in lines if line["kind"] in KINDS]
    messages = [_group_event(line) for line in lines if "shapes" in line]
    kernels = [
        NcclKernel(name=line["name"], begin_ns=line["begin_ns"], end_ns=line["end_ns"], call_id=line["call"])
        for line in lines
        if line["kind"] == "kernel" and is_nccl(line["name"])
    ]
    calls = {line["call"]: line["meta"] for line in lines if "meta" in line}
    collectives = [
        *collective_names.of_gloo(messages, world_size),
        *collective_names.of_nccl(kernels, calls),
    ]
    compute = compute_intervals(events)
    for number, window in sorted(windows(events, MARK)):
        yield number, profile(window, compute, collectives)


def _group_event(line: dict[str, Any]) -> GroupEvent:
    shapes = [shape for shape in line["shapes"] if shape]
    return GroupEvent(
        name=line["name"],
        begin_ns=line["begin_ns"],
        end_ns=line["end_ns"],
        elements=tuple(math.prod(shape) for shape in shapes),
        dtype=next((dtype for dtype in line["dtypes"] if dtype and dtype != "Scalar"), ""),
    )


def _reduced_bytes(step: StepProfile) -> int | None:
    sent = [step.collectives[op].message_bytes for op in _REDUCTIONS if op in step.collectives]
    return None if None in sent else sum(filter(None, sent))


def _append(scratch: Path, table: str, writer: Writer, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        rank_tables.append(scratch, table, writer, np.array(rows, dtype=TABLES[table]))
