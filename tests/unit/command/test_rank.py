"""The environment that a user's command gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bench.command import rank
from bench.records.run_spec import MeasureSpec
from bench.train.rank_job import RankJob
from tests.unit.workloads.runs import spec


@pytest.fixture
def environment(tmp_path: Path):
    """`environment("cpu", inherited)`: that of a command on this kind of device."""

    def make(device_type: str, inherited: Mapping[str, str]) -> dict[str, str]:
        run = replace(
            spec(batch_per_rank=4),
            device_type="cpu" if device_type == "cpu" else "cuda",
            measure=MeasureSpec(steps=4),
            workload_options={"examples_per_step": None, "step_optimizer": None},
        )
        job = RankJob(
            spec=run.to_json(), rank=0, node=0, local_rank=0, local_task=0, cpus=[0],
            device_index=None if device_type == "cpu" else 0, cuda_visible_devices=None, shares_gpus=False,
            rendezvous="store://127.0.0.1:29500/p", interface=None, scratch=str(tmp_path), log="", server_pid=0,
            variables_of_bench=[],
        )  # fmt: skip
        return rank._environment(job, run, inherited, {})

    return make


def test_nccl_writes_a_log_on_gpus_unless_the_user_has_set_nccl_debug(environment, tmp_path) -> None:
    assert environment("cuda", {})["NCCL_DEBUG_FILE"] == str(tmp_path / "nccl.rank0.log")
    own = environment("cuda", {"NCCL_DEBUG": "WARN"})
    assert (own["NCCL_DEBUG"], "NCCL_DEBUG_FILE" in own) == ("WARN", False)
    assert "NCCL_DEBUG" not in environment("cpu", {})
