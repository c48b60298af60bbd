"""`bench predict` with models that end the process of their shadow, or never end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.common.process import is_running
from bench.shadow.shadow import shadows
from tests.shadow_runs import runs

MODEL = """
import os, signal, subprocess, time
from bench.workloads import Workload

class Sound(Workload):
    def model(self):
        from torch import nn  # here, so that bench itself need not import it
        return nn.Linear(8, 8)
    def batch(self, places, keys):
        import torch
        return {"x": torch.zeros(len(places), 8)}
    def loss(self, model, batch):
        return model(batch["x"]).square().mean()

class Leaves(Sound):
    def loss(self, model, batch):
        os._exit(0)

class Killed(Sound):
    def loss(self, model, batch):
        os.kill(os.getpid(), signal.SIGKILL)

class Forks(Sound):
    def loss(self, model, batch):
        os.fork()
        return super().loss(model, batch)

class Loops(Sound):
    def loss(self, model, batch):
        own = subprocess.Popen(["sleep", "600"], process_group=0)
        open(os.path.join(os.path.dirname(__file__), "pids"), "w").write(f"{os.getpid()} {own.pid}\\n")
        while True:
            time.sleep(0.01)
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def problems_of(model: Path, *names: str) -> list[str | None]:
    cases = {
        name.lower(): {
            "strategy": "ddp", "world": [2], "workload": {"name": f"{model}:{name}"}, "data": {"source": "synthetic"},
        }
        for name in names
    }  # fmt: skip
    specs = runs(model.parent, cases)
    found = shadows([(spec, 0) for spec in specs])
    return [str(one) if isinstance(one, InputError) else None for one in found]


def test_a_model_that_ends_its_process_is_named_and_the_others_are_answered(model: Path) -> None:
    ends = "the process of the shadow ended early"
    remedy = "run the case on one rank, as with `bench suite SUITE --world 1`, to see why"
    assert problems_of(model, "Leaves", "Killed", "Sound", "Forks") == [
        f"leaves: {ends} (exit code 0): {remedy}",
        f"killed: {ends} (signal 9): its code ended it, or memory ran out: {remedy}",
        None,
        None,
    ]


def test_a_model_that_never_ends_is_named_and_the_others_are_answered(model: Path) -> None:
    document = {
        "title": "One that loops", "device": "cpu", "measure": {"warmup": 1, "steps": 1, "repeats": 2},
        "cases": [
            {
                "name": name, "strategy": "ddp", "scaling": "weak", "batch_per_rank": 4, "world": [2],
                "workload": {"name": f"./model.py:{name.title()}"},
            }
            for name in ("loops", "sound")
        ],
    }  # fmt: skip
    suite = model.with_name("own.yaml")
    suite.write_text(json.dumps(document))
    command = [sys.executable, "-m", "bench", "predict", str(suite), "--timeout", "30", "--json"]
    done = subprocess.run(command, cwd=model.parent, check=True, capture_output=True, text=True)
    loops, sound = (one["problem"] for one in json.loads(done.stdout)["predictions"])
    assert loops.startswith("loops: the shadow did not finish within 30 s: choose a smaller model")
    assert loops.endswith("or set a longer --timeout")
    assert sound is None


SCRIPT = """
import os, subprocess, time
own = subprocess.Popen(["sleep", "600"], process_group=0)
open("pids", "w").write(f"{os.getpid()} {own.pid}\\n")
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("told", "arguments"),
    [
        (signal.SIGINT, ("predict", "own.yaml")),
        (signal.SIGTERM, ("predict", "own.yaml")),
        (signal.SIGHUP, ("predict", "--world", "2", "--", sys.executable, "train.py")),
    ],
    ids=["interrupted", "terminated", "script"],
)
def test_the_shadow_and_the_process_that_its_code_started_end_with_the_one_that_asks(
    model: Path, told: signal.Signals, arguments: tuple[str, ...]
) -> None:
    model.with_name("train.py").write_text(SCRIPT)
    case = {"name": "a", "strategy": "ddp", "scaling": "weak", "batch_per_rank": 4, "world": [2]}
    said = {"title": "Loops", "workload": {"name": "./model.py:Loops"}, "device": "cpu", "cases": [case]}
    said |= {"measure": {"warmup": 1, "steps": 1, "repeats": 2}}
    model.with_name("own.yaml").write_text(json.dumps(said))
    written = model.with_name("pids")
    process = subprocess.Popen(
        [sys.executable, "-m", "bench", *arguments], cwd=model.parent, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        until = time.monotonic() + 120
        while not (written.exists() and written.read_text().endswith("\n")):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(told)
        process.communicate(timeout=180)
    finally:
        process.kill()
    pids = [int(word) for word in written.read_text().split()]
    until = time.monotonic() + 60
    while any(map(is_running, pids)):
        assert time.monotonic() < until
        time.sleep(0.05)
