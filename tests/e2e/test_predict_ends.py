"""`bench predict` with models that end the process that probes them, or never end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.common.process import is_running
from bench.predict import model_probe
from tests.unit.session.test_session import run_spec

MODEL = """
import os, signal, time
import torch
from torch import nn

class Sound:
    def model(self):
        return nn.Linear(8, 8)
    def batch(self, places, keys):
        return {"x": torch.zeros(len(places), 8)}
    def loss(self, model, batch):
        return model(batch["x"]).square().mean()

class Leaves(Sound):
    def loss(self, model, batch):
        os._exit(0)

class Killed(Sound):
    def loss(self, model, batch):
        os.kill(os.getpid(), signal.SIGKILL)

class Loops(Sound):
    def loss(self, model, batch):
        open(os.path.join(os.path.dirname(__file__), "probe.pid"), "w").write(str(os.getpid()))
        while True:
            time.sleep(0.01)
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def answers_of(model: Path, *names: str) -> list[model_probe.ProbedModel]:
    specs = [run_spec(workload=f"{model}:{name}") for name in names]
    answers = model_probe.probe_models(specs, counts_flops=False)
    return [answers[model_probe.model_key(spec)] for spec in specs]


def test_a_model_that_ends_its_process_is_named_and_the_others_are_answered(model: Path) -> None:
    leaves, killed, sound = answers_of(model, "Leaves", "Killed", "Sound")
    assert leaves.problem == f"{model}:Leaves ended the process that probes it (exit code 0)"
    assert killed.problem == f"{model}:Killed ended the process that probes it (signal 9)"
    assert sound.size is not None
    assert sound.size.parameters == 8 * 8 + 8


def test_a_model_that_never_ends_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_probe, "_LIMIT_S", 1)
    (loops,) = answers_of(model, "Loops")
    assert loops.problem == f"{model}:Loops gave no shapes within 1 s"


def test_the_process_that_looks_ends_with_the_one_that_asks(model: Path) -> None:
    suite = model.with_name("own.yaml")
    case = {"name": "a", "strategy": "ddp", "scaling": "weak", "batch_per_rank": 4, "world": [2]}
    said = {"title": "Loops", "workload": {"name": "./model.py:Loops"}, "device": "cpu", "cases": [case]}
    suite.write_text(json.dumps(said | {"measure": {"warmup": 1, "steps": 1, "repeats": 2}}))
    command = [sys.executable, "-m", "bench", "predict", str(suite)]
    written = model.with_name("probe.pid")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not (written.exists() and written.read_text()):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        probe = int(written.read_text())
        process.terminate()
    until = time.monotonic() + 10
    while is_running(probe):
        assert time.monotonic() < until
        time.sleep(0.05)
