"""A call into the user's code that never ends, in the check before a session."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from processes import Marked, OneProcess

CODE = """
import os
import time
import torch
from torch import nn
from bench.workloads import Workload

def wait():
    print("waiting", flush=True)
    while True:
        time.sleep(60)

class Net(Workload):
    def model(self):
        return nn.Linear(4, 1)
    def batch(self, places, keys):
        return {"x": torch.ones(len(places), 4)}
    def loss(self, model, batch):
        return model(batch["x"]).mean()

class Prepares(Net):
    def prepare(self):
        wait()

class Loads(Net):
    def batch(self, places, keys):
        wait()

class Fails(Net):
    def prepare(self):
        raise FileNotFoundError("no corpus")

class Closes(Net):
    def prepare(self):
        os.closerange(3, 200)
        wait()
"""
SUITE = """
title: Hangs
device: cpu
measure: {warmup: 1, steps: 2, repeats: 1, timeout_s: TIMEOUT}
cases:
  - {name: fails, workload: {name: "./mine.py:Fails"}, strategy: single, scaling: none, batch_per_rank: 2, world: 1}
  - {name: prepares, workload: {name: "./mine.py:Prepares"}, strategy: single, scaling: none, batch_per_rank: 2,
     world: 1}
  - {name: closes, workload: {name: "./mine.py:Closes"}, strategy: single, scaling: none, batch_per_rank: 2, world: 1}
  - {name: loads, workload: {name: "./mine.py:Loads"}, strategy: single, scaling: none, batch_per_rank: 2, world: 1}
"""
WAIT = next(number for number, line in enumerate(CODE.splitlines(), 1) if line.strip() == "time.sleep(60)")


LIMIT_S = 4
CHECKS = {
    # name -> cases of the suite, measure.timeout_s
    "prepares": (["prepares"], LIMIT_S),
    "loads": (["fails", "loads"], LIMIT_S),
    "closes": (["closes"], 100_000),
}


def written(folder: Path, timeout_s: int) -> str:
    (folder / "mine.py").write_text(CODE)
    path = folder / f"mine{timeout_s}.yaml"
    path.write_text(SUITE.replace("TIMEOUT", str(timeout_s)))
    return str(path)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By name in CHECKS: what the check says on stderr. It ends with 2, and leaves nothing."""
    folder = tmp_path_factory.mktemp("hangs")
    marked = Marked(folder)
    place = ("--results", str(folder / "r"), "--ranks-per-node", "1")
    found = {}
    with OneProcess(marked.environment) as one_process:
        for name, (cases, timeout_s) in CHECKS.items():
            chosen = [word for case in cases for word in ("--case", case)]
            done = one_process.run("suite", written(folder, timeout_s), *chosen, *place, cwd=folder)
            assert done.returncode == 2, done.stderr
            assert not (folder / "r").exists()
            found[name] = done.stderr
    assert marked.left() == []
    return found


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("prepares", "prepare() of mine.py:Prepares"),
        ("loads", "a step of mine.py:Loads under the strategy single"),
    ],
)
def test_it_is_named_and_ends_the_call_with_2_and_its_place(
    said: dict[str, str], name: str, call: str
) -> None:
    assert f"bench: case {name}: still waiting for {call} (" in said[name]
    hangs = f"case {name}: {call} did not end within {LIMIT_S} s (measure.timeout_s); it is at mine.py:{WAIT}, in "
    assert said[name].splitlines()[-1].removeprefix("error: ").startswith(f"{hangs}wait: ")


def test_the_problems_that_were_found_before_are_named_too(said: dict[str, str]) -> None:
    line = 1 + CODE.splitlines().index('        raise FileNotFoundError("no corpus")')
    assert f"error: case fails: mine.py:{line}, in prepare: FileNotFoundError: no corpus\n" in said["loads"]


def test_a_process_that_closes_its_files_is_not_waited_for(said: dict[str, str]) -> None:
    assert (
        "error: case closes: the process of the check before the session ended during prepare() of "
        in said["closes"]
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
