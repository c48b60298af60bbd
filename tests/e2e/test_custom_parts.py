"""A custom strategy through the real command line; tensor parallelism, whose ranks share every batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from tests.e2e.processes import OneProcess

NET = """
import os
import torch
from torch import nn
from bench.workloads import Workload

class Net(Workload):
    dataset_size = 96
    validation_size = 32

    def prepare(self):
        self.points = torch.randn(128, 6, generator=torch.Generator().manual_seed(0))

    def model(self):
        return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))

    def batch(self, places, keys):
        return {"points": self.points[places]}

    def loss(self, model, batch):
        return (model(batch["points"]) - batch["points"].sum(1, keepdim=True)).square().mean()
"""
TENSOR_PARALLEL = """
from bench.strategies import Strategy


class TensorParallel(Strategy):
    @staticmethod
    def ranks_per_batch(options, world_size):
        return world_size

    def wrap(self, model, blocks, *, device, precision):
        from torch.distributed import get_world_size
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        ranks = init_device_mesh(device.type, (get_world_size(),))
        parts = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        return parallelize_module(model.to(device), ranks, parts)
"""
SUITE = """
title: Mine
workload: {name: ./net.py:Net}
device: cpu
train: {learning_rate: 0.01, accumulate: 2, clip_norm: 0.5}
measure: {warmup: 1, epochs: 2, repeats: 1, timeout_s: 60, validate_every: 4}
cases:
  - {name: single, strategy: single, scaling: none, batch_per_rank: 16, world: 1}
  - {name: divided, strategy: "./mine.py:TensorParallel", scaling: strong, global_batch: 16, world: [1, 2]}
"""


def written(folder: Path, strategy: str = TENSOR_PARALLEL, suite: str = SUITE) -> str:
    (folder / "net.py").write_text(NET)
    (folder / "mine.py").write_text(strategy)
    (folder / "mine.yaml").write_text(suite)
    return str(folder / "mine.yaml")


def rows(one_process: OneProcess, results: Path, query: str) -> list[dict[str, Any]]:
    answer = one_process.run("sql", query, "--results", str(results), "--format", "json")
    found: list[dict[str, Any]] = json.loads(answer.stdout)
    return found


def test_two_ranks_that_share_each_batch_train_as_one_does(tmp_path: Path, one_process: OneProcess) -> None:
    results = tmp_path / "r"
    done = one_process.run(
        "suite", written(tmp_path), "--results", str(results), "--session", "s", "--ranks-per-node", "2"
    )
    assert done.returncode == 0, done.stderr
    runs = rows(one_process, results, "SELECT * FROM runs ORDER BY run_id")
    assert [
        (run["run_id"], run["strategy"], run["batch_per_rank"], run["global_batch"], run["same_batch"])
        for run in runs
    ] == [
        ("divided.1x1.r0", "mine.py:TensorParallel", 16, 16, None),
        ("divided.1x2.r0", "mine.py:TensorParallel", 16, 16, None),
        ("single.1x1.r0", "single", 16, 16, None),
    ]
    assert len({run["flops_per_step"] for run in runs}) == 1
    assert [run["steps_completed"] for run in runs] == [1 + 2 * 96 // 16] * 3
    assert {"content of mine.py", "content of net.py"} < runs[0]["fingerprint"].keys()
    losses = {
        (row["run_id"], row["rank"]): row["losses"]
        for row in rows(
            one_process,
            results,
            "SELECT run_id, rank, list(loss ORDER BY step) AS losses FROM steps GROUP BY ALL",
        )
    }
    assert len(losses) == 4
    for found in losses.values():
        assert found == pytest.approx(losses["single.1x1.r0", 0], rel=1e-4)
    validated = rows(one_process, results, "SELECT step, val_loss FROM evals ORDER BY ALL")
    for first, second, third in zip(*[iter(row["val_loss"] for row in validated)] * 3, strict=True):
        assert first == pytest.approx(third, rel=1e-4)
        assert second == pytest.approx(third, rel=1e-4)
    (parity,) = rows(
        one_process, results, "SELECT verdict FROM loss_parity WHERE case_name = 'divided' AND workers = 2"
    )
    assert parity == {"verdict": "same"}


def test_a_strategy_that_cannot_work_ends_the_call_with_2_before_anything_is_written(
    tmp_path: Path, one_process: OneProcess
) -> None:
    suite = written(tmp_path, TENSOR_PARALLEL.replace("return parallelize", "parallelize"))
    done = one_process.run("suite", suite, "--results", str(tmp_path / "r"), "--ranks-per-node", "2")
    assert done.returncode == 2
    assert (
        "error: case divided: AttributeError: 'NoneType' object has no attribute 'parameters'\n"
        in done.stderr
    )
    assert not (tmp_path / "r").exists()


def failed_run(suite: str, folder: Path, one_process: OneProcess) -> dict[str, Any]:
    """The run.json of the suite's only run, which fails."""
    places = ("--results", str(folder / "r"), "--case", "divided", "--ranks-per-node", "2", "--no-load")
    assert one_process.run("suite", suite, *places).returncode == 1
    (run,) = (json.loads(path.read_text()) for path in folder.glob("r/*/*/run.json"))
    return cast("dict[str, Any]", run)


def test_an_error_of_a_rank_names_the_strategys_method_and_line(
    tmp_path: Path, one_process: OneProcess
) -> None:
    failing = TENSOR_PARALLEL.replace(
        "        ranks = ", "        if get_world_size() == 2: raise KeyError('two')\n        ranks = "
    )
    suite = written(tmp_path, failing, SUITE.replace("world: [1, 2]", "world: 2"))
    run = failed_run(suite, tmp_path, one_process)
    assert run["outcome"]["error"] == "KeyError: 'two' (mine.py:15, in wrap)"


def test_ranks_that_share_a_batch_and_get_different_ones_fail_before_their_first_step_ends(
    tmp_path: Path, one_process: OneProcess
) -> None:
    suite = written(tmp_path, suite=SUITE.replace("world: [1, 2]", "world: 2"))
    (tmp_path / "net.py").write_text(NET.replace("self.points[places]", "self.points[places] + os.getpid()"))
    run = failed_run(suite, tmp_path, one_process)
    assert run["outcome"]["error"].startswith(
        "RuntimeError: ranks 0 to 1 share a batch (ranks_per_batch), but "
    )
    assert run["outcome"]["steps_completed"] == 0
