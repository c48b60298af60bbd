"""Why a user's command ended too early."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.command import ending
from bench.records.run_spec import MeasureSpec
from bench.train.rank_job import NO_PROGRAM
from tests.unit.workloads.runs import spec

RUN = replace(spec(batch_per_rank=4), measure=MeasureSpec(warmup=5, steps=30))
TRACEBACK = """reading data
Traceback (most recent call last):
  File "train.py", line 3, in <module>
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB
"""


def explained(folder: Path, log: str, code: int) -> tuple[list[str], bool]:
    (folder / "log").write_text(log)
    found = ending.explained(RUN, 1, code, folder, folder / "log")
    return found["error"].splitlines(), found["oom"]


OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"


@pytest.mark.parametrize(
    ("log", "code", "first", "oom"),
    [
        (TRACEBACK, 1, f"the command ended with exit code 1: {OUT_OF_MEMORY}", True),
        ("bad input\n", 3, "the command ended with exit code 3", False),
        ("usage: t\nt.py: error: no x\n", 2, "the command ended with exit code 2: t.py: error: no x", False),
        ("Usage: t\nError: no x\n", 2, "the command ended with exit code 2: Error: no x", False),
        ("bench: x cannot be started: No such file\n", NO_PROGRAM, "the command cannot be started", False),
    ],
)
def test_a_failure_has_the_last_line_of_its_traceback_and_the_end_of_the_log(
    tmp_path: Path, log: str, code: int, first: str, oom: bool
) -> None:
    lines, is_oom = explained(tmp_path, log, code)
    assert lines[0] == first
    assert [line.strip() for line in lines[1:]] == [line.strip() for line in log.splitlines()]
    assert is_oom is oom


def test_of_a_progress_bar_only_its_last_state_is_shown(tmp_path: Path) -> None:
    bar = "".join(f"\r{percent} % done" for percent in range(0, 101, 10))
    lines, _ = explained(tmp_path, f"reading data\r\n{bar}\nbad input\n", 3)
    assert [line.strip() for line in lines[1:]] == ["reading data", "100 % done", "bad input"]


def test_a_command_that_ended_well_too_early(tmp_path: Path) -> None:
    lines, _ = explained(tmp_path, "", 0)
    assert lines[0].startswith("the command ended without an error, but never imported torch")
    (tmp_path / "probe_error.rank1").write_text("Traceback:\nKeyError: 'warmup'\n")
    lines, _ = explained(tmp_path, "", 0)
    assert lines[0].endswith("report this: KeyError: 'warmup'")
    outcome = tmp_path / "outcome.rank1.json"
    outcome.write_text(json.dumps({"command": {"optimizers": [], "has_own_steps": False, "steps": 0}}))
    without = explained(tmp_path, "", 0)[0][0]
    assert "without a step of a torch optimizer" in without
    assert "--isolate" in without  # it may have found the last checkpoint of the run before
    outcome.write_text(json.dumps({"command": {"optimizers": ["SGD"], "steps": 12}}))
    assert "after 12 of 35 recorded steps" in explained(tmp_path, "", 0)[0][0]
    isolated = replace(RUN, workload_options={**RUN.workload_options, "isolate": True})
    said = ending.explained(isolated, 1, 0, tmp_path, tmp_path / "log")["error"]
    assert "make the script write it below its working folder" in said
    (tmp_path / "processes.rank1").touch()
    assert explained(tmp_path, "", 0)[0][0].startswith("several processes of one rank take steps")


def test_a_signal_explains_itself(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("training\n")
    assert ending.explained(RUN, 0, -9, tmp_path, tmp_path / "log") == {}
