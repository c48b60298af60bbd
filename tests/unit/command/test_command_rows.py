"""Rows from the events that the probe leaves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from bench.command import rows
from bench.measure import evals
from bench.measure.rank_tables import Writer
from bench.records.run_spec import MeasureSpec
from tests.unit.workloads.runs import spec

RUN = replace(spec(batch_per_rank=4), measure=MeasureSpec(warmup=5, steps=30))
GROUP = {"name": "0", "description": "default_pg", "ranks": [0, 1], "calls": 3}


def event(name: str, kind: str, begin_ns: int, end_ns: int) -> dict[str, Any]:
    return {"name": name, "kind": kind, "begin_ns": begin_ns, "end_ns": end_ns, "thread": 1}


@pytest.mark.parametrize(
    ("device_type", "has_kernels", "is_known"),
    [("cpu", False, True), ("cuda", True, True), ("cuda", False, False)],
)
def test_without_the_kernels_of_a_gpu_its_communication_is_not_known(
    tmp_path: Path, device_type: Literal["cpu", "cuda"], has_kernels: bool, is_known: bool
) -> None:
    events = [event("bench.step 35", "user_annotation", 0, 1_000), event("aten::mm", "cpu_op", 100, 300)]
    if has_kernels:
        events.append(event("gemm", "kernel", 200, 700) | {"call": 7})
    (tmp_path / "events.rank0.json").write_text("".join(json.dumps(one) + "\n" for one in events))
    run = replace(RUN, device_type=device_type, world_size=2)
    found = rows.store_profile(tmp_path, Writer(node=0, local_task=0, rank=0), run, {"35": [GROUP]})
    assert found["reduced_bytes"] == (0 if is_known else None)
    assert ("no kernels" in found.get("profile_problem", "")) is not is_known
    assert bool(list(tmp_path.glob("profile.node*"))) is is_known
    assert list(tmp_path.glob("profile_groups.node*"))  # torch counts the calls of a group itself


def test_a_pause_is_that_of_the_rank_with_the_longest(tmp_path: Path) -> None:
    paused: list[list[tuple[int, float]]] = [[(9, 0.5)], [(9, 0.75), (4, 0.25)]]
    rows.store_pauses(tmp_path, [{}, *({"command": {"pauses": of_rank}} for of_rank in paused)])
    assert [(row["step"], row["validation_s"]) for row in evals.read(tmp_path)] == [(4, 0.25), (9, 0.75)]
