"""`bench compare` and `bench history` on sessions of a script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import BENCH, KEEPS_GARBAGE
from tests.unit.analysis.conftest import ask

SCRIPT = f"""{KEEPS_GARBAGE}
import sys, time, torch
net = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(100):
    optimizer.zero_grad()
    net(torch.ones(32, 16)).square().mean().backward()
    time.sleep(float(sys.argv[1]))
    optimizer.step()
"""
SESSIONS = {"before": "0.05", "again": "0.05", "slower": "0.8"}
"""By name, the seconds of a step. The last one is so slow that three repeats decide, also on a busy machine."""


def bench(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run([*BENCH, *words], cwd=folder, env=wide, text=True, capture_output=True, check=False)


def history(folder: Path, *words: str) -> list[str]:
    """The rows of the table that it prints, without its alignment."""
    done = bench(folder, "history", "train", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return [" ".join(line.split()) for line in done.stdout.splitlines() if line.startswith("command  ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the sessions were run, with `results`."""
    folder = tmp_path_factory.mktemp("sessions")
    size = ("--world", "1", "--repeats", "3", "--warmup", "2", "--steps", "5")
    for session, seconds in SESSIONS.items():
        # as a developer does: the script itself changes
        (folder / "train.py").write_text(SCRIPT.replace("sys.argv[1]", seconds))
        load = () if session == [*SESSIONS][-1] else ("--no-load",)  # the last one loads all
        done = bench(folder, "run", *size, "--session", session, *load, "--", sys.executable, "train.py")
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_compare_has_the_throughput_of_both_and_names_the_script_that_changed(folder: Path) -> None:
    done = bench(folder, "compare", "before", "slower", "--format", "json")
    assert done.returncode == 3, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert [difference["key"] for difference in found["differences"]] == ["content of train.py"]
    (row,) = found["rows"]
    assert (row["case_name"], row["workload"], row["placement"]) == ("command", "command", "1x1")
    assert (row["baseline_repeats"], row["candidate_repeats"], row["verdict"]) == (3, 3, "slower")
    query = "SELECT session_id, geomean(throughput) AS mean FROM run_summary GROUP BY session_id"
    means = {each["session_id"]: each["mean"] for each in ask(folder / "results", query)}
    assert row["baseline_throughput"] == pytest.approx(means["before"], rel=1e-9)
    assert row["ratio"] == pytest.approx(means["slower"] / means["before"], rel=1e-9)
    assert row["ratio_hi"] < 0.95
    assert "the code differs: train.py" in bench(folder, "compare", "before", "slower").stdout


def test_sessions_of_the_same_script_are_alike(folder: Path) -> None:
    done = bench(folder, "compare", "before", "again", "--format", "json", "--require-alike")
    assert done.returncode in (0, 3), done.stdout + done.stderr  # 4: the machines differ
    found = json.loads(done.stdout)
    assert found["differences"] == []
    assert [row["case_name"] for row in found["rows"]] == ["command"]


def test_history_has_every_session_and_what_changed(folder: Path) -> None:
    rows = history(folder)
    assert [row.split()[-1] for row in rows] == [*SESSIONS]
    assert ["code: train.py" in row for row in rows] == [False, False, True]
    assert "slower: regression" in rows[-1]
    assert rows[-1] in history(folder, "--regressions")
