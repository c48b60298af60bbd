"""measure.until and until_efficiency with real ranks: which sizes get further repeats, their order, and a resume."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from processes import Marked

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
OF_EFFICIENCY = """
title: Uneven ratios
workload: {name: "./uneven.py:Workload", fast_repeats: []}
device: cpu
measure: {warmup: 1, steps: 6, repeats: 2, until_efficiency: 25%, max_repeats: 8, timeout_s: 60}
cases:
  - name: even
    strategy: single
    scaling: none
    batch_per_rank: 64
    world: [1]
  - name: apart
    strategy: ddp
    scaling: strong
    global_batch: 64
    world: [2]
    baseline: even
    workload: {fast_repeats: [0]}
  - name: together
    strategy: ddp
    scaling: strong
    global_batch: 64
    world: [1, 2]
    workload: {fast_repeats: [0]}
"""


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
    assert [line[0] for line in shown[-4:]] == ["[20/20]", "[21/22]", "[22/22]", "[23/23]"]
    assert "session s: 20 runs, up to 26 with further repeats" in done.stderr
    assert "not yet known: throughput within ±10 % or ±19 %; another round of 2 runs" in done.stderr
    assert "not yet known: throughput within ±19 %; another round of 1 run" in done.stderr
    assert "capped 1x1: throughput within ±" in done.stdout
    assert "settles 1x2: throughput" not in done.stdout
    coverage = "SELECT case_name, world_size, planned, ok, skipped, missing FROM coverage ORDER BY ALL"
    assert ask(marked, tmp_path, coverage) == [
        ["capped", 1, 6, 6, 0, 0],
        ["narrow", 1, 5, 5, 0, 0],
        ["settles", 2, 7, 7, 0, 0],
        ["settles", 64, 5, 0, 5, 0],
    ]
    needed = (
        "SELECT case_name, repeats_needed_until = 0 AS enough FROM scaling WHERE repeats > 0 ORDER BY ALL"
    )
    assert ask(marked, tmp_path, needed) == [["capped", False], ["narrow", True], ["settles", True]]


def test_efficiency_is_narrowed_by_rounds_with_the_baseline_and_only_if_the_ratio_varies(
    marked: Marked, tmp_path: Path
) -> None:
    """All throughputs of `together` are as uneven as that of `apart`, but its sizes are fast in the same round."""
    (tmp_path / "suite.yaml").write_text(OF_EFFICIENCY)
    done = marked.run(*command(tmp_path), "--session", "s")
    assert done.returncode == 0, done.stderr
    shown = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("[")]
    sizes = "even.1x1", "apart.1x2", "together.1x1", "together.1x2"
    assert shown == [
        *(f"{size}.r{repeat}" for repeat in range(5) for size in sizes),
        "even.1x1.r5",
        "apart.1x2.r5",
    ]
    assert "session s: 20 runs, up to 32 with further repeats" in done.stderr
    assert "not yet known: efficiency within ±25 %; another round of 2 runs" in done.stderr
    needed = (
        "SELECT case_name, repeats_needed_until_efficiency FROM scaling WHERE NOT is_baseline ORDER BY ALL"
    )
    assert ask(marked, tmp_path, needed) == [["apart", 0], ["together", 0]]


def test_a_session_that_is_stopped_in_a_round_goes_on_with_it_and_with_the_next(
    marked: Marked, tmp_path: Path
) -> None:
    chosen = [*command(tmp_path), "--session", "s", "--case", "settles", "--case", "capped", "--no-load"]
    order = [run_id for run_id in ORDER if not run_id.startswith("narrow")]
    begun = marked.start(*chosen)
    session = tmp_path / "r" / "s"
    while not (session / "settles.1x2.r5" / "run.json").exists() and begun.poll() is None:
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
