"""Cases on the CPU and on GPUs in one suite: each is planned with its own slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.plan.plan import plan
from bench.records.run_spec import PlannedRun, Slots
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

WITHOUT = Slots(slots_per_node=2, cpus_per_node=2, device_type="cpu")
WITH = Slots(slots_per_node=2, cpus_per_node=8, device_type="cuda", cuda_devices_per_node=2)
SUITE = """
title: Devices
workload: {name: spiral_mlp}
measure: {steps: 3, repeats: 1}
cases:
  - name: net
    strategy: ddp
    scaling: strong
    global_batch: 8
    world: [1, 2, 4]
    matrix: {device: [cpu, cuda]}
    baseline: net~device=cpu
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "devices.yaml").write_text(SUITE)
    return tmp_path / "devices.yaml"


def planned(suite: Path | str, slots: Slots) -> tuple[PlannedRun, ...]:
    return plan(load_suite(str(suite), Selection(repeats=1)), slots, "s")


def test_a_matrix_over_devices_makes_a_case_of_each_with_its_own_slots(suite: Path) -> None:
    runs = planned(suite, WITH)
    found = {(run.spec.run_id, run.spec.device_type): run.skip_reason for run in runs}
    assert [key for key, reason in found.items() if reason is None] == [
        ("net~device=cpu.1x1.r0", "cpu"), ("net~device=cpu.1x2.r0", "cpu"), ("net~device=cpu.1x4.r0", "cpu"),
        ("net~device=cuda.1x1.r0", "cuda"), ("net~device=cuda.1x2.r0", "cuda"),
    ]  # fmt: skip
    assert found["net~device=cuda.1x4.r0", "cuda"] == (
        "needs 4 slots, this machine has 2: --oversubscribe runs it anyway, marked"
    )
    assert {run.spec.baseline for run in runs} == {"net~device=cpu"}


def test_on_a_machine_without_gpus_their_case_is_skipped_with_the_reason(suite: Path) -> None:
    reasons = {run.spec.run_id: run.skip_reason for run in planned(suite, WITHOUT)}
    needs = "needs a GPU, this machine has none: --device cpu runs it without"
    assert [name for name, reason in reasons.items() if reason is None] == [
        "net~device=cpu.1x1.r0", "net~device=cpu.1x2.r0",
    ]  # fmt: skip
    assert [reason for name, reason in reasons.items() if "cuda" in name] == [needs] * 3


def test_the_shipped_suite_holds_gpus_against_one_core() -> None:
    runs = planned("mnist_threads", WITH)
    gpus = [run for run in runs if run.spec.device_type == "cuda"]
    assert [run.spec.world_size for run in gpus if run.skip_reason is None] == [1, 2]
    assert {run.spec.baseline for run in gpus} == {"threads"}
    first = next(run.spec for run in runs if run.spec.case_name == "threads")
    assert (first.workers, first.axis, first.threads, first.device_type) == (1, "threads", 1, "cpu")
