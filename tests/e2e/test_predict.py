"""`bench predict` from a suite to its answer: shapes in a separate process, no training."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import KEEPS_GARBAGE, OneProcess

MODEL = """
import torch
from torch import nn
from bench.workloads import Workload

class Mlp(Workload):
    def model(self):
        return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
    def batch(self, places, keys):
        return {"x": torch.zeros(len(places), 64)}
    def loss(self, model, batch):
        return model(batch["x"]).square().mean()

class Looks(Mlp):
    def loss(self, model, batch):
        out = model(batch["x"])
        return out.mean() * out.max().item()
"""
SUITE = {
    "title": "Two models of my own",
    "workload": {"name": "./model.py:Mlp"},
    "measure": {"warmup": 1, "steps": 1, "repeats": 2},
    "device": "cpu",
    "cases": [
        {"name": "ddp", "strategy": "ddp", "scaling": "weak", "batch_per_rank": 4, "world": [2]},
        {"name": "fsdp", "strategy": "fsdp", "scaling": "weak", "batch_per_rank": 4, "world": [2]},
        {
            "name": "looks", "workload": {"name": "./model.py:Looks"}, "strategy": "ddp", "scaling": "weak",
            "batch_per_rank": 4, "world": [2],
        },
    ],
}  # fmt: skip
PARAMETERS = 64 * 256 + 256 + 256 * 64 + 64
SLEEP_S = 0.02
SCRIPT = f"""{KEEPS_GARBAGE}
import os
import time

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

model = nn.Linear(64, 10)
if int(os.environ["WORLD_SIZE"]) > 1:
    distributed.init_process_group("gloo")
    model = DistributedDataParallel(model)
model.register_forward_hook(lambda *_: time.sleep({SLEEP_S}))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    time.sleep({SLEEP_S})
    batch = torch.randn(8, 64)
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predict")
    (folder / "model.py").write_text(MODEL)
    path = folder / "own.yaml"
    path.write_text(json.dumps(SUITE))
    return path


Predict = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def predict(one_process: OneProcess) -> Predict:
    """`bench predict` of a suite file, with the results folder next to it."""

    def call(suite: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        where = ("--results", str(suite.parent))
        return one_process.run("predict", str(suite), *where, *arguments, cwd=suite.parent)

    return call


def test_json_has_bytes_seconds_and_what_does_not_fit(suite: Path, predict: Predict) -> None:
    done = predict(
        suite, "--json", "--world", "64", "--ranks-per-node", "8", "--bus-gbps", "50", "--latency-us", "10",
        "--tflops", "0.001", "--memory", "300KiB",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    ddp, fsdp, looks = answer["predictions"]
    assert (ddp["nodes"], ddp["ranks_per_node"], ddp["parameters"]) == (8, 8, PARAMETERS)
    memory = ddp["memory_per_rank_bytes"]
    assert memory["gradients"] == 4 * PARAMETERS
    # AdamW also counts the steps of each of the four tensors
    assert memory["optimizer"] == 8 * PARAMETERS + 4 * 4
    assert fsdp["memory_per_rank_bytes"]["optimizer"] < memory["optimizer"] / 60
    assert (ddp["fits"], ddp["memory_bytes"]) == (False, 300 * 1024)
    assert ddp["fsdp_would_take_bytes"] == fsdp["memory_per_rank_bytes"]["total"]
    # one bucket round a ring of 64: 126 messages that wait for each other
    assert ddp["communication_s"] == pytest.approx(126 * 10e-6 + 126 / 64 * 4 * PARAMETERS / 50e9)
    flops = 4 * (3 * 2 * 2 * 64 * 256 - 2 * 64 * 256)
    assert ddp["computation_s"] == pytest.approx(flops / 1e9)
    assert ddp["computing"] == pytest.approx(ddp["computation_s"] / ddp["step_s"])
    assert looks["memory_per_rank_bytes"] is None
    assert "model.py, line 17: the code reads a value" in looks["problem"]


def test_a_table_says_what_fits_and_what_is_not_known(suite: Path, predict: Predict) -> None:
    done = predict(suite, "--memory", "300KiB", "--case", "ddp")
    assert done.returncode == 0, done.stderr
    assert "network: not known; measure it with `bench suite collectives` or give --bus-gbps" in done.stdout
    # four copies of 129.25 KiB, and two of a weight of 64 KiB while AdamW updates it
    assert "2 ranks: 646 KiB of 300 KiB: does not fit, by 346 KiB" in done.stdout


def test_a_step_without_messages_has_its_unit(suite: Path, predict: Predict) -> None:
    done = predict(suite, "--tflops", "0.001", "--case", "ddp", "--world", "1")
    assert done.returncode == 0, done.stderr
    assert "memory per rank in KiB, times in ms\n" in done.stdout


def test_a_size_among_which_the_batch_does_not_divide_leaves_the_others_their_prediction(
    tmp_path: Path, predict: Predict
) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    strong = {"name": "strong", "strategy": "ddp", "scaling": "strong", "global_batch": 32, "world": [2]}
    path = tmp_path / "strong.yaml"
    path.write_text(json.dumps({**SUITE, "cases": [strong]}))
    done = predict(path, "--json", "--world", "8,64")
    assert done.returncode == 0, done.stderr
    eight, many = json.loads(done.stdout)["predictions"]
    assert (eight["problem"], eight["parameters"]) == (None, PARAMETERS)
    assert "32 / 64 = 0.5" in many["problem"]
    assert many["problem"].endswith("--set cases.strong.global_batch=64")


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("matmul", "it trains nothing: there is no step to predict"),
        ("collectives", "it trains nothing: there is no step to predict"),
        (
            "batch_sweep",
            "as in --set cases.largest_ddp.find_batch=false --set cases.largest_ddp.batch_per_rank=32",
        ),
    ],
)
def test_what_has_no_step_or_no_batch_says_so(
    tmp_path: Path, suite: str, said: str, one_process: OneProcess
) -> None:
    command = ["predict", suite, "--results", str(tmp_path), "--world", "2"]
    command += ["--case", "largest_ddp~checkpointing=false"] if suite == "batch_sweep" else []
    done = one_process.run(*command)
    assert done.returncode == 2, done.stderr
    assert said in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--latency-us", "5"), "--latency-us: only with --bus-gbps"),
        (("--memory", "80 gigs"), "--memory 80 gigs: give a size as in 80GiB"),
        (("--world", "0"), "--world 0"),
        (("--", "python", "train.py"), "and the command python are both given: leave one of them out"),
    ],
)
def test_an_option_that_makes_no_sense_ends_with_2(
    suite: Path, predict: Predict, arguments: tuple[str, ...], said: str
) -> None:
    done = predict(suite, *arguments)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.fixture(scope="module")
def meshes(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Cases of mesh_sweep on a given network, without --json."""
    command = ["predict", "mesh_sweep", "--quick"]
    network = ["--bus-gbps", "1", "--latency-us", "100", "--tflops", "0.05"]
    return [*command, *network, "--results", str(tmp_path_factory.mktemp("results"))]


def test_tensor_parallelism_waits_for_its_messages(meshes: list[str], one_process: OneProcess) -> None:
    done = one_process.run(*meshes, "--case", "tp", "--world", "2", "--json")
    assert done.returncode == 0, done.stderr
    (tp,) = json.loads(done.stdout)["predictions"]
    assert tp["problem"] is None
    # two per layer in forward and in backward at least, each of at least two latencies
    assert tp["messages"] >= 8
    assert tp["communication_s"] >= tp["messages"] * 2 * 100e-6
    assert tp["step_s"] == pytest.approx(tp["computation_s"] + tp["communication_s"])
    assert tp["step_is_upper_bound"] is False
    assert tp["memory_per_rank_bytes"]["parameters"] < 4 * tp["parameters"]


def test_if_no_size_can_be_predicted_the_command_fails(tmp_path: Path, one_process: OneProcess) -> None:
    done = one_process.run("predict", "mesh_sweep", "--quick", "--case", "tp", "--world", "3", cwd=tmp_path)
    assert done.returncode == 2
    assert "heads 4 does not divide among 3 ranks" in done.stdout + done.stderr


def test_a_size_that_does_not_fit_is_named_though_a_larger_one_cannot_be_predicted(
    suite: Path, predict: Predict
) -> None:
    # 4 examples per rank: 4 in all do not divide among 64
    strong = ("--case", "ddp", "--set", "cases.ddp.global_batch=4", "--set", "cases.ddp.scaling=strong")
    done = predict(suite, *strong, "--world", "2,64", "--memory", "300KiB")
    assert "2 ranks: " in done.stdout, done.stdout + done.stderr
    assert re.search(r"does not fit, by .*; fsdp would take ", done.stdout)


def test_a_step_whose_messages_may_hide_more_is_an_upper_bound(suite: Path, predict: Predict) -> None:
    own = suite.with_name("mine.py")
    own.write_text("from bench.strategies import ddp\n\nclass Mine(ddp.Strategy):\n    pass\n")
    speeds = ("--bus-gbps", "1", "--tflops", "0.001", "--set", f"cases.ddp.strategy={own}:Mine")
    done = predict(suite, "--case", "ddp", "--world", "4", "--device", "cuda", *speeds)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r" at most [\d,.]+  +at least [\d.]+ %$", done.stdout, re.MULTILINE)


def test_a_script_is_predicted_by_a_shadow_and_a_measured_rank(
    tmp_path: Path, one_process: OneProcess
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = ["--results", str(tmp_path / "r"), "--", sys.executable, "train.py"]
    run = ["run", "--world", "1", "--repeats", "1", "--warmup", "2", "--steps", "6", *command]
    measured = one_process.run(*run, cwd=tmp_path)
    assert measured.returncode == 0, measured.stderr
    words = ["predict", "--world", "8x8", "--bus-gbps", "1", "--json", *command]
    done = one_process.run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["predictions"]
    assert (found["problem"], found["world_size"], found["nodes"]) == (None, 64, 8)
    gradient_bytes = 4 * (64 * 10 + 10)
    # DDP's first gradients may have a bucket of their own
    assert (found["messages"], found["message_bytes"]) in ((1, gradient_bytes), (2, gradient_bytes))
    assert found["memory_per_rank_bytes"]["gradients"] == gradient_bytes
    assert found["computation_s"] >= 2 * SLEEP_S  # forward, and what no phase has
    # DDP's last bucket hides behind nothing
    assert found["computation_s"] < found["step_s"] < found["computation_s"] + 1.01 * found["communication_s"]
    assert found["step_is_upper_bound"] is False


def test_a_node_has_as_many_ranks_as_the_world_says(suite: Path, predict: Predict) -> None:
    done = predict(suite, "--json", "--case", "ddp", "--world", "8x512,2x64", "--ranks-per-node", "2")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["predictions"]
    assert {(one["problem"], one["nodes"], one["ranks_per_node"]) for one in found} == {
        (None, 8, 512), (None, 2, 64)
    }  # fmt: skip


def test_one_measured_rank_says_how_long_its_phases_take(
    tmp_path: Path, predict: Predict, one_process: OneProcess
) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    path = tmp_path / "own.yaml"
    path.write_text(json.dumps(SUITE))
    run = ["suite", str(path), "--case", "ddp", "--world", "1", "--results", str(tmp_path)]
    measured = one_process.run(*run, cwd=tmp_path)
    assert measured.returncode == 0, measured.stderr
    done = predict(path, "--json", "--bus-gbps", "1", "--case", "ddp")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "as measured on one rank in" in answer["machine"][1]
    (ddp,) = answer["predictions"]
    assert ddp["computation_s"] > 0
    # a bucket of the whole model hides behind nothing
    assert ddp["step_s"] == pytest.approx(ddp["computation_s"] + ddp["communication_s"])


def test_a_network_of_cpus_is_timed_after_computation(
    suite: Path, tmp_path: Path, predict: Predict, one_process: OneProcess
) -> None:
    sizes = "{smallest_bytes: 1024, largest_bytes: 16384, factor: 4}"
    collectives = ["suite", "collectives", "--quick", "--case", "all", "--world", "2", "--device", "cpu"]
    collectives += ["--ranks-per-node", "2", "--repeats", "1", "--results", str(tmp_path)]
    network = {}
    for after, how in (("false", "back to back"), ("true", "after computation")):
        settings = ["--set", f"workload={sizes}", "--set", f"workload.after_computation={after}"]
        timed = one_process.run(*collectives, *settings)
        assert timed.returncode == 0, timed.stderr
        done = predict(suite, "--json", "--case", "fsdp", "--tflops", "0.001", "--results", str(tmp_path))
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert f"timed at 1x2 {how}, lines off by" in answer["machine"][0]
        (fsdp,) = answer["predictions"]
        assert fsdp["step_s"] > fsdp["computation_s"]
        network[after] = fsdp["communication_s"]
    assert network["true"] != network["false"]
