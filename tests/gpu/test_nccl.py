"""NCCL's faults: its words are in the row and in the rank's log, and torch ends no run before the agents do."""

from __future__ import annotations

import json
import sys

import pytest

from tests.gpu.conftest import Gpus
from tests.gpu.test_training import HEAD
from tests.gpu.test_training_command import SCRIPT
from tests.unit.analysis.conftest import ask

DDP = "  - {name: one, strategy: ddp, scaling: none, batch_per_rank: 4, world: [2]}\n"
WAITING = '''
from __future__ import annotations

import json
from datetime import timedelta

import torch
from torch import distributed, nn

from bench.strategies.ddp import Strategy as Ddp


class Waiting(Ddp):
    """ddp with a second group, which prints the time that NCCL waits in each, and makes it 3 seconds."""

    def wrap(self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str) -> nn.Module:
        groups = [distributed.group.WORLD, distributed.new_group()]
        waits_s = [each._get_backend(device).options._timeout.total_seconds() for each in groups]
        print(json.dumps({"waits_s": waits_s}), flush=True)
        distributed.set_timeout(timedelta(seconds=3))
        return super().wrap(model, blocks, device=device, precision=precision)
'''


def test_a_collective_that_fails_has_nccls_words_and_its_log(gpus: Gpus) -> None:
    gpus.settings["nccl_fault_at"] = 8
    done = gpus.suite(HEAD + DDP)
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = gpus.ask("SELECT status, error, failed_rank FROM runs")
    assert run["status"] == "failed"
    assert "the stand-in's network is down" in run["error"]
    log = (gpus.results / f"s/one.1x2.r0/rank{run['failed_rank']}.log").read_text()
    assert "NCCL WARN collective 8: the stand-in's network is down" in log
    assert "NCCL INFO Using network Socket" in log


def test_a_script_whose_collective_fails_has_nccls_words_and_its_log(gpus: Gpus) -> None:
    gpus.settings["nccl_fault_at"] = 8
    (gpus.folder / "train.py").write_text(SCRIPT)
    short = ("--session", "s", "--world", "2", "--repeats", "1", "--warmup", "3", "--steps", "8")
    done = gpus.bench("run", *short, "--device", "cuda", "--", sys.executable, "train.py")
    assert done.returncode == 1, done.stdout + done.stderr
    runs = ask(
        gpus.results, "SELECT run_id, status, failed_rank FROM runs WHERE world_size = 2 AND NOT probe"
    )
    assert {run["status"] for run in runs} == {"failed"}
    for run in runs:
        log = (gpus.results / f"s/{run['run_id']}/rank{run['failed_rank']}.log").read_text()
        assert "NCCL WARN collective 8: the stand-in's network is down" in log
        assert "NCCL INFO Using network Socket" in log


def test_nccl_waits_longer_than_the_agents_and_a_watchdog_that_ends_the_ranks_is_quoted(
    gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch waits for 10 minutes unless it is told otherwise; here the strategy tells it so."""
    for owner in ("NCCL", "FR"):
        monkeypatch.setenv(f"TORCH_{owner}_WAIT_TIMEOUT_DUMP_MILSEC", "100")
    gpus.settings["hang_at"] = 600
    (gpus.folder / "waiting.py").write_text(WAITING)
    done = gpus.suite(
        HEAD.replace("120", "1200") + DDP.replace("strategy: ddp", "strategy: ./waiting.py:Waiting")
    )
    assert done.returncode == 1, done.stdout + done.stderr
    lines = (gpus.results / "s/one.1x2.r0/rank0.log").read_text().splitlines()
    (waits_s,) = [json.loads(line)["waits_s"] for line in lines if "waits_s" in line]
    assert min(waits_s) > 1_200
    (run,) = gpus.ask("SELECT status, error FROM runs")
    assert run["status"] == "failed"
    assert "killed by SIGABRT; its log says: " in run["error"]
    assert "timed out" in run["error"]
