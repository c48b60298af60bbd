"""NCCL's faults: its words are in the row and in the rank's log, and torch ends no run before the agents do."""

from __future__ import annotations

import json

import pytest

from tests.gpu.conftest import Gpus
from tests.gpu.test_training import HEAD
from tests.unit.analysis.conftest import ask

DDP = "  - {name: one, strategy: ddp, scaling: none, batch_per_rank: 4, world: [2]}\n"
WAITING = '''
from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

import torch
from torch import distributed, nn

from bench.strategies.ddp import DdpOptions
from bench.strategies.ddp import Strategy as Ddp


@dataclass(frozen=True, kw_only=True)
class Options(DdpOptions):
    """Options of ddp."""

    limit_s: float = 0.0
    """Limit of NCCL's watchdog; 0: the one that bench has set."""


class Waiting(Ddp):
    """ddp with a second group, which prints the time that NCCL waits in each."""

    Options: ClassVar = Options

    def wrap(self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str) -> nn.Module:
        groups = [distributed.group.WORLD, distributed.new_group()]
        waits_s = [each._get_backend(device).options._timeout.total_seconds() for each in groups]
        print(json.dumps({"waits_s": waits_s}), flush=True)
        if self.options.limit_s:
            distributed.set_timeout(timedelta(seconds=self.options.limit_s))
        return super().wrap(model, blocks, device=device, precision=precision)
'''


def waiting(gpus: Gpus, timeout_s: int, limit_s: float) -> str:
    (gpus.folder / "waiting.py").write_text(WAITING)
    strategy = f"{{name: ./waiting.py:Waiting, limit_s: {limit_s}}}"
    done = gpus.suite(HEAD.replace("120", str(timeout_s)) + DDP.replace("ddp", strategy))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return (gpus.results / "s/one.1x2.r0/rank0.log").read_text()


def test_a_collective_that_fails_has_nccls_words_and_its_log(gpus: Gpus) -> None:
    gpus.settings["nccl_fault_at"] = 8
    done = gpus.suite(HEAD + DDP)
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = ask(gpus.results, "SELECT status, error, failed_rank FROM runs")
    assert run["status"] == "failed"
    assert "the stand-in's network is down" in run["error"]
    log = (gpus.results / f"s/one.1x2.r0/rank{run['failed_rank']}.log").read_text()
    assert "NCCL WARN collective 8: the stand-in's network is down" in log
    assert "NCCL INFO Using network Socket" in log


def test_nccl_waits_longer_than_the_agents_in_every_group(gpus: Gpus) -> None:
    log = waiting(gpus, 1_200, 0.0)
    (waits_s,) = [json.loads(line)["waits_s"] for line in log.splitlines() if "waits_s" in line]
    assert min(waits_s) > 1_200


def test_a_watchdog_that_ends_the_ranks_is_quoted(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner in ("NCCL", "FR"):
        monkeypatch.setenv(f"TORCH_{owner}_WAIT_TIMEOUT_DUMP_MILSEC", "100")
    gpus.settings["hang_at"] = 600
    waiting(gpus, 120, 3.0)
    (run,) = ask(gpus.results, "SELECT status, error FROM runs")
    assert run["status"] == "failed"
    assert "killed by SIGABRT; its log says: " in run["error"]
    assert "timed out" in run["error"]
