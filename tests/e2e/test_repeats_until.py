"""measure.until with real ranks: which sizes get further repeats, their order, and a resume."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from processes import Marked, OneProcess

HERE = Path(__file__).parent
# If one repeat takes two thirds of the time, the interval is ±29 % after five repeats, ±22 % after six and ±17 % after
# seven. A slow one would not count.
SUITE = """
title: Uneven repeats
workload: {name: "./uneven.py:Workload", fast_repeats: []}
device: cpu
measure: {warmup: 1, steps: 6, repeats: 2, until: 99%, max_repeats: 6, timeout_s: 60}
cases:
  - name: narrow
    strategy: single
    scaling: none
    batch_per_rank: 8
    world: [1]
  - name: settles
    strategy: ddp
    scaling: strong
    global_batch: 64
    world: [2, 64]
    workload: {fast_repeats: [0]}
    measure: {until: 19%, max_repeats: 9}
  - name: capped
    strategy: single
    scaling: none
    batch_per_rank: 8
    world: [1]
    workload: {fast_repeats: [1]}
    measure: {until: 10%}
"""
SIZES = "narrow.1x1", "settles.1x2", "settles.1x64", "capped.1x1"
ORDER = [
    *(f"{size}.r{repeat}" for repeat in range(5) for size in SIZES),
    "settles.1x2.r5",
    "capped.1x1.r5",
    "settles.1x2.r6",
]
NOISY = ("settles.1x2.r7", "settles.1x2.r8")
"""Further runs on a machine that is so busy that the seventh repeat does not make the interval narrow enough."""


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


def ask(one_process: OneProcess, folder: Path, query: str) -> list[list[object]]:
    done = one_process.run("sql", query, "--results", str(folder / "r"), "--format", "json")
    return [list(row.values()) for row in json.loads(done.stdout)]


def test_what_is_too_wide_is_repeated_until_it_is_narrow_or_at_its_limit_also_by_a_session_that_was_stopped(
    one_process: OneProcess, tmp_path: Path
) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)
    shutil.copyfile(HERE / "uneven.py", tmp_path / "uneven.py")
    begun = Marked(tmp_path).start(*command(tmp_path), "--session", "s")
    session = tmp_path / "r" / "s"
    while not (session / "settles.1x2.r5" / "run.json").exists() and begun.poll() is None:
        time.sleep(0.02)
    (session / "STOP").touch()
    _, said = begun.communicate(timeout=60)
    assert begun.returncode == 143, said
    assert "session s: 20 runs, up to 26 with further repeats" in said
    assert "not yet known: throughput within ±10 % or ±19 %; another round of 2 runs" in said
    resumed = one_process.run(*command(tmp_path), "--session", "s")
    assert resumed.returncode == 0, resumed.stderr
    assert "not yet known: throughput within ±19 %; another round of 1 run" in resumed.stderr
    order = [*ORDER, *(name for name in NOISY if (session / name).exists())]
    settled = 7 + len(order) - len(ORDER)
    shown = [line.partition("] ")[2] for line in (said + resumed.stderr).splitlines() if line.startswith("[")]
    assert [line.split()[0] for line in shown if "interrupted" not in line.split()] == order
    assert "capped 1x1: throughput within ±" in resumed.stdout
    assert ("settles 1x2: throughput" in resumed.stdout) <= (settled == 9)
    assert sorted(path.parent.name for path in session.glob("*/run.json")) == sorted(order)
    plan = json.loads((session / "session.json").read_text())["plan"]
    assert [run["run_id"] for run in plan] == order
    coverage = "SELECT case_name, world_size, planned, ok, skipped, missing FROM coverage ORDER BY ALL"
    assert ask(one_process, tmp_path, coverage) == [
        ["capped", 1, 6, 6, 0, 0],
        ["narrow", 1, 5, 5, 0, 0],
        ["settles", 2, settled, settled, 0, 0],
        ["settles", 64, 5, 0, 5, 0],
    ]
    needed = """
        SELECT case_name, repeats_needed IS NOT DISTINCT FROM 0 AS enough FROM scaling WHERE repeats > 0 ORDER BY ALL
    """
    *others, (_, is_settled) = ask(one_process, tmp_path, needed)
    assert others == [["capped", False], ["narrow", True]]
    assert is_settled or settled == 9
    again = one_process.run("suite", "--resume", "s", "--results", str(tmp_path / "r"))
    assert "every run of its plan is done" in again.stderr
