"""A call into the user's code that never ends, in the check before a session."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import Marked

CODE = """
import os
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

def wait():
    print("waiting", flush=True)
    while True:
        time.sleep(60)

class Net:
    def model(self):
        return nn.Linear(4, 1)
    def loss(self, model, batch):
        return model(batch["x"]).mean()
class Prepares(Net):
    def prepare(self):
        wait()

class Fails(Net):
    def prepare(self):
        raise FileNotFoundError("no corpus")

class Closes(Net):
    def prepare(self):
        os.closerange(3, 200)
        wait()

class Endless(IterableDataset):
    def __iter__(self):
        wait()

def batches(shard):
    while True:
        yield {"x": torch.ones(shard.batch_size, 4)}
def hangs(shard):
    wait()
    yield {}
def in_a_worker(shard):
    return DataLoader(Endless(), shard.batch_size, num_workers=1)
"""
SUITE = """
title: Hangs
device: cpu
measure: {warmup: 1, steps: 2, repeats: 1, timeout_s: TIMEOUT}
cases:
  - {name: fails, workload: {name: "./mine.py:Fails"}, data: "./mine.py:batches", strategy: single,
     scaling: none, batch_per_rank: 2, world: 1}
  - {name: prepares, workload: {name: "./mine.py:Prepares"}, data: "./mine.py:batches", strategy: single,
     scaling: none, batch_per_rank: 2, world: 1}
  - {name: closes, workload: {name: "./mine.py:Closes"}, data: "./mine.py:batches", strategy: single,
     scaling: none, batch_per_rank: 2, world: 1}
  - {name: loads, workload: {name: "./mine.py:Net"}, data: "./mine.py:hangs", strategy: single,
     scaling: none, batch_per_rank: 2, world: 1}
  - {name: worker, workload: {name: "./mine.py:Net"}, data: "./mine.py:in_a_worker", strategy: single,
     scaling: none, batch_per_rank: 2, world: 1}
"""
WAIT = next(number for number, line in enumerate(CODE.splitlines(), 1) if line.strip() == "time.sleep(60)")


def written(folder: Path, timeout_s: int) -> str:
    (folder / "mine.py").write_text(CODE)
    (folder / "mine.yaml").write_text(SUITE.replace("TIMEOUT", str(timeout_s)))
    return str(folder / "mine.yaml")


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., str]:
    """Check these cases of the suite; returns what is said on stderr. The check ends with 2, and leaves nothing."""

    def checked(*cases: str, timeout_s: int) -> str:
        marked = Marked(tmp_path)
        chosen = [word for case in cases for word in ("--case", case)]
        place = ("--results", str(tmp_path / "r"), "--ranks-per-node", "1")
        done = marked.run("suite", written(tmp_path, timeout_s), *chosen, *place)
        assert done.returncode == 2, done.stderr
        assert not (tmp_path / "r").exists()
        assert marked.left() == []
        return done.stderr

    return checked


@pytest.mark.parametrize(
    ("cases", "call"),
    [
        (["prepares"], "prepare() of mine.py:Prepares"),
        (["fails", "loads"], "the first batch of mine.py:hangs()"),
        (["worker"], "the first batch of mine.py:in_a_worker()"),
    ],
)
def test_it_is_named_and_ends_the_call_with_2_and_its_place(
    check: Callable[..., str], cases: list[str], call: str
) -> None:
    said = check(*cases, timeout_s=10)
    assert f"bench: case {cases[-1]}: still waiting for {call} (" in said
    fails = "case fails: prepare() of mine.py:Fails raised FileNotFoundError: no corpus (line "
    hangs = f"case {cases[-1]}: {call} did not end within 10 s (measure.timeout_s); it is at mine.py:{WAIT}, in wait: "
    *earlier, last = said.splitlines()[-len(cases) :]
    assert last.removeprefix("error: ").startswith(hangs)
    assert [line.startswith(f"error: {fails}") for line in earlier] == [True] * (len(cases) - 1)


def test_a_process_that_closes_its_files_is_not_waited_for(check: Callable[..., str]) -> None:
    said = check("closes", timeout_s=100_000)
    assert (
        "error: case closes: the process of the check before the session ended during prepare() of " in said
    )


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    marked = Marked(tmp_path)
    suite = written(tmp_path, 100_000)
    process = marked.start(
        "suite", suite, "--case", "loads", "--results", str(tmp_path / "r"), "--ranks-per-node", "1"
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line == "waiting\n":
            break
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (130, "\nbench: stopped\n")
    assert not (tmp_path / "r").exists()
    assert marked.left() == []
