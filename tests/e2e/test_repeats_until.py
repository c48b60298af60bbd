"""measure.until with real ranks: the sizes that get further repeats, their order, and a resume."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from processes import Marked

HERE = Path(__file__).parent
# If one repeat takes half as long again, Student's interval is ±1200 % after two, ±79 % after three, ±38 % after
# four.
SUITE = """
title: Uneven repeats
workload: {name: "./uneven.py:Workload", slow_repeats: []}
device: cpu
measure: {warmup: 1, steps: 4, repeats: 2, until: 99%, max_repeats: 3, timeout_s: 60}
cases:
  - name: narrow  # repeats may differ by 10 %; long steps, because a busy machine delays them
    strategy: single
    scaling: none
    batch_per_rank: 8
    world: [1]
    workload: {step_s: 0.4}
  - name: settles
    strategy: ddp
    scaling: strong
    global_batch: 64
    world: [2, 64]
    workload: {slow_repeats: [0]}
    measure: {until: 50%, max_repeats: 6}
  - name: capped
    strategy: single
    scaling: none
    batch_per_rank: 8
    world: [1]
    workload: {slow_repeats: [1]}
    measure: {until: 10%}
"""
ORDER = [
    "narrow.1x1.r0", "settles.1x2.r0", "settles.1x64.r0", "capped.1x1.r0",
    "narrow.1x1.r1", "settles.1x2.r1", "settles.1x64.r1", "capped.1x1.r1",
    "settles.1x2.r2", "capped.1x1.r2",
    "settles.1x2.r3",
]  # fmt: skip


@pytest.fixture
def marked(tmp_path: Path) -> Marked:
    (tmp_path / "suite.yaml").write_text(SUITE)
    shutil.copyfile(HERE / "uneven.py", tmp_path / "uneven.py")
    return Marked(tmp_path)


def command(folder: Path) -> list[str]:
    return [
        "suite",
        str(folder / "suite.yaml"),
        "--results",
        str(folder / "r"),
        "--order",
        "fixed",
        "--ranks-per-node",
        "2",
    ]


def ask(marked: Marked, folder: Path, query: str) -> list[list[object]]:
    done = marked.run("sql", query, "--results", str(folder / "r"), "--format", "json")
    return [list(row.values()) for row in json.loads(done.stdout)]


def test_what_is_too_wide_is_repeated_round_by_round_until_it_is_narrow_or_at_its_limit(
    marked: Marked, tmp_path: Path
) -> None:
    done = marked.run(*command(tmp_path), "--session", "s")
    assert done.returncode == 0, done.stderr
    shown = [line.split() for line in done.stderr.splitlines() if line.startswith("[")]
    assert [line[1] for line in shown] == ORDER
    assert [line[0] for line in shown[-4:]] == ["[8/8]", "[9/10]", "[10/10]", "[11/11]"]
    assert "session s: 8 runs, up to 14 with further repeats" in done.stderr
    assert "intervals of throughput are wider than ±10 % or ±50 %: another round of 2 runs" in done.stderr
    assert "intervals of throughput are wider than ±50 %: another round of 1 run" in done.stderr
    assert "capped 1x1: throughput within ±" in done.stdout
    assert "settles 1x2: throughput" not in done.stdout
    coverage = "SELECT case_name, world_size, planned, ok, skipped, missing FROM coverage ORDER BY ALL"
    assert ask(marked, tmp_path, coverage) == [
        ["capped", 1, 3, 3, 0, 0],
        ["narrow", 1, 2, 2, 0, 0],
        ["settles", 2, 4, 4, 0, 0],
        ["settles", 64, 2, 0, 2, 0],
    ]
    needed = (
        "SELECT case_name, repeats_needed_until = 0 AS enough FROM scaling WHERE repeats > 0 ORDER BY ALL"
    )
    assert ask(marked, tmp_path, needed) == [["capped", False], ["narrow", True], ["settles", True]]


def test_a_session_that_is_stopped_in_a_round_goes_on_with_it_and_with_the_next(
    marked: Marked, tmp_path: Path
) -> None:
    chosen = [*command(tmp_path), "--session", "s", "--case", "settles", "--case", "capped"]
    order = [run_id for run_id in ORDER if not run_id.startswith("narrow")]
    begun = marked.start(*chosen)
    session = tmp_path / "r" / "s"
    while not (session / "settles.1x2.r2" / "run.json").exists() and begun.poll() is None:
        time.sleep(0.02)
    (session / "STOP").touch()
    begun.communicate(timeout=60)
    assert begun.returncode != 0
    resumed = marked.run(*chosen)
    assert resumed.returncode == 0, resumed.stderr
    assert sorted(path.parent.name for path in session.glob("*/run.json")) == sorted(order)
    plan = json.loads((session / "session.json").read_text())["plan"]
    assert [run["run_id"] for run in plan] == order
    again = marked.run("suite", "--resume", "s", "--results", str(tmp_path / "r"))
    assert "every run of its plan is done" in again.stderr
