"""A custom workload through the real command line: refused before anything is written, or trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import Marked, OneProcess

NET = """
import torch
from torch import nn
from bench.workloads import Workload

class Net(Workload):
    def prepare(self):
        self.points = torch.randn(4096, 3, generator=torch.Generator().manual_seed(0))

    def model(self):
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))

    def batch(self, places, keys):
        return {"points": self.points[places]}

    def loss(self, model, batch):
        return (model(batch["points"]) - 1).square().mean()
"""
SUITE = """
title: Mine
workload: {name: NAME}
device: cpu
measure: {warmup: 1, steps: 4, repeats: 1, timeout_s: 60}
cases:
  - {name: ddp, strategy: ddp, scaling: strong, global_batch: 8, world: [1, 2]}
  - {name: fsdp, strategy: fsdp, scaling: strong, global_batch: 8, world: [2], train: {checkpointing: true}}
"""
LOOKS = "from next_to_it import KEY" + NET.replace("Net", "Looks").replace(
    "return (model", "print(batch[KEY].sum().item())\n        return (model"
)
LOOKING_CASE = """\
  - {name: looks, strategy: single, scaling: none, batch_per_rank: 8, world: [1], workload: {name: ./looks.py:Looks}}
"""


@pytest.fixture
def marked(tmp_path: Path) -> Marked:
    return Marked(tmp_path)


def suite(folder: Path, name: str, text: str = SUITE) -> str:
    (folder / "mine.yaml").write_text(text.replace("NAME", name))
    return str(folder / "mine.yaml")


def test_a_mistake_ends_the_call_with_2_before_anything_is_written(
    tmp_path: Path, one_process: OneProcess
) -> None:
    (tmp_path / "net.py").write_text(NET.replace(".square().mean()", ".square()"))
    done = one_process.run("suite", suite(tmp_path, "./net.py:Net"), "--results", str(tmp_path / "r"))
    assert done.returncode == 2
    assert (
        "error: cases ddp, fsdp: loss() of net.py:Net returned a tensor of shape [2, 1]: return the mean"
        in done.stderr
    )
    assert not (tmp_path / "r").exists()


def test_three_methods_train_alike_on_one_rank_and_two(tmp_path: Path, marked: Marked) -> None:
    (tmp_path / "net.py").write_text(NET + "    metric = 'Dice'\n")
    (tmp_path / "looks.py").write_text(LOOKS)
    (tmp_path / "next_to_it.py").write_text("KEY = 'points'")
    results = tmp_path / "r"
    call = [
        "suite",
        suite(tmp_path, "./net.py:Net", SUITE + LOOKING_CASE),
        "--results",
        str(results),
        "--session",
        "s",
        "--ranks-per-node",
        "2",
    ]
    done = marked.run(*call)
    assert done.returncode == 0, done.stderr
    runs = {path.parent.name: json.loads(path.read_text()) for path in results.glob("s/*/run.json")}
    assert {name: run["outcome"]["status"] for name, run in runs.items()} == {
        "ddp.1x1.r0": "ok", "ddp.1x2.r0": "ok", "fsdp.1x2.r0": "ok", "looks.1x1.r0": "ok",
    }  # fmt: skip
    looks = runs.pop("looks.1x1.r0")
    assert {run["spec"]["workload"] for run in runs.values()} == {f"{tmp_path}/net.py:Net"}
    assert {run["outcome"]["metric"] for run in runs.values()} == {"Dice"}
    assert looks["outcome"]["metric"] is None
    _flops_are_counted_or_it_is_said_why_not(runs, looks, done.stderr)
    asked = "SELECT run_id, final_loss FROM run_summary WHERE case_name <> 'looks' ORDER BY 1"
    answer = json.loads(marked.run("sql", asked, "--results", str(results), "--format", "json").stdout)
    losses = [row["final_loss"] for row in answer]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)


def _flops_are_counted_or_it_is_said_why_not(
    runs: dict[str, dict[str, Any]], looks: dict[str, Any], said: str
) -> None:
    """Total of both ranks, without checkpointing's second computation: 16 multiplications forward. Backward has twice
    as many, less the 12 of the first layer's input."""
    outcomes = [run["outcome"] for run in runs.values()]
    assert [outcome["flops_per_step"] for outcome in outcomes] == [8 * 2 * (3 * 16 - 12)] * 3
    note = "it needs values, as for item(), an if on a tensor or a boolean mask, but here are only shapes"
    note += " (looks.py:17, in loss)"
    assert (looks["outcome"]["flops_per_step"], looks["outcome"]["flops_note"]) == (None, note)
    assert said.count(f"case looks: FLOPs were not counted: {note}") == 1
