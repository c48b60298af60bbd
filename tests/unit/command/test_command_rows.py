"""Rows from the events that the probe leaves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from bench.command import rows
from bench.measure import rank_tables
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


def test_the_pauses_of_a_rank_are_rows_of_a_table(tmp_path: Path) -> None:
    outcome = {
        "command": {"groups": {}, "pauses": [[9, "validation", 500], [9, "saving", 20]]}, "selfcheck": [],
    }  # fmt: skip
    part: Any = SimpleNamespace(node=1, local_task=0, run=RUN)
    rows.store(tmp_path, part, {3: outcome, 4: {}})
    (written,) = rank_tables.read(tmp_path)
    assert (written.table, written.writer) == ("pauses", Writer(node=1, local_task=0, rank=3))
    assert written.rows.tolist() == [(9, b"validation", 500), (9, b"saving", 20)]
