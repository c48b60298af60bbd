"""find_batch with real ranks and a real memory limit: the batch that fits, its measured runs, and a resume."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from processes import Marked, OneProcess

from analysis.database import connections

HERE = Path(__file__).parent
# An example takes some 10 MiB: 1 MiB in its batch, 8 in the layers, and gradients in backward.
SUITE = """
title: What fits
workload: {name: "./hungry.py:Workload"}
device: cpu
measure: {warmup: 1, steps: 3, repeats: 1, timeout_s: 60}
train: {learning_rate: 0.1}
cases:
  - {name: whole, strategy: single, scaling: none, batch_per_rank: 16, world: [1]}
  - name: strong
    strategy: ddp
    scaling: strong
    global_batch: 16
    world: [1, 2, 16]
    find_batch: {smallest: 2}
    measure: {memory_limit_bytes: 64MiB}
  - name: largest
    strategy: single
    scaling: none
    world: [1]
    find_batch: {largest: 2, steps: 2}
  - name: nothing
    strategy: single
    scaling: weak
    batch_per_rank: 8
    world: [1]
    find_batch: true
    measure: {memory_limit_bytes: 2MiB}
"""
PROBES = {
    "strong.1x1.find2": "ok", "strong.1x1.find4": "ok", "strong.1x1.find8": "oom",
    "strong.1x2.find2": "ok", "strong.1x2.find4": "ok", "strong.1x2.find8": "oom",
    "largest.1x1.find1": "ok", "largest.1x1.find2": "ok",
    "nothing.1x1.find1": "oom",
}  # fmt: skip


def begin(folder: Path) -> list[str]:
    """Write the suite into that folder; returns the command that runs it."""
    (folder / "fits.yaml").write_text(SUITE)
    shutil.copyfile(HERE / "hungry.py", folder / "hungry.py")
    command = [
        "suite",
        str(folder / "fits.yaml"),
        "--results",
        str(folder / "r"),
        "--session",
        "s",
        "--order",
        "fixed",
    ]
    return [*command, "--ranks-per-node", "2"]


Found = tuple[Path, str]
"""Folder and output of the finished session."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Found:
    folder = tmp_path_factory.mktemp("found")
    done = one_process.run(*begin(folder))
    assert done.returncode == 1, done.stderr  # one case fits with no micro-batch
    return folder, done.stdout + done.stderr


def ask(found: Found, query: str) -> list[tuple[Any, ...]]:
    with connections.reader(found[0] / "r") as connection:
        return connection.execute(query).fetchall()


def test_micro_batches_are_doubled_until_one_does_not_fit_and_no_figure_has_them(
    found: Found,
) -> None:
    probes = ask(found, "SELECT run_id, status FROM runs WHERE probe")
    assert dict(probes) == {f"{name}.r0": status for name, status in PROBES.items()}
    assert ask(found, "SELECT DISTINCT case_name, ok, oom, skipped, missing FROM coverage ORDER BY ALL") == [
        ("largest", 1, 0, 0, 0),
        ("nothing", 0, 1, 0, 0),
        ("strong", 0, 0, 1, 0),
        ("strong", 1, 0, 0, 0),
        ("whole", 1, 0, 0, 0),
    ]
    assert ask(found, "SELECT count(*) FROM run_summary WHERE run_id LIKE '%find%'") == [(0,)]


def test_what_is_measured_is_the_batch_that_is_wanted_of_micro_batches_that_fit(
    found: Found,
) -> None:
    columns = "case_name, world_size, largest_micro_batch, too_large_micro_batch, too_large_status"
    chosen = "accumulate, micro_batch, batch_per_rank, global_batch"
    assert ask(found, f"SELECT {columns}, {chosen} FROM batch_limits ORDER BY ALL") == [
        ("largest", 1, 2, None, None, 1, 2, 2, 2),
        ("nothing", 1, None, 1, "oom", None, None, None, None),
        ("strong", 1, 4, 8, "oom", 4, 4, 16, 16),
        ("strong", 2, 4, 8, "oom", 2, 4, 8, 16),
    ]


def test_a_ranks_memory_at_the_largest_batch_lies_within_its_limit(found: Found) -> None:
    rows = ask(
        found,
        "SELECT available_bytes, used_bytes, headroom_bytes FROM batch_limits WHERE case_name = 'strong'",
    )
    assert len(rows) == 2
    for available, used, headroom in rows:
        assert available == 64 * 2**20
        assert 4 * 5 * 2**20 < used <= available  # four examples; the layers alone keep five times as much
        assert headroom == available - used
    ((share,),) = ask(found, "SELECT available_bytes FROM batch_limits WHERE case_name = 'largest'")
    assert share >= 64 * 2**20  # of the node's memory, since the suite sets no limit


def test_accumulated_losses_are_those_of_the_whole_batch(found: Found) -> None:
    rows = ask(
        found,
        "SELECT step, max(loss) FILTER (case_name = 'whole'), min(loss) FILTER (case_name = 'strong'), "
        "max(loss) FILTER (case_name = 'strong') FROM step_stats JOIN run_summary USING (session_id, run_id) "
        "WHERE case_name IN ('whole', 'strong') GROUP BY step ORDER BY step",
    )
    assert len(rows) == 4
    assert rows[0][1] != pytest.approx(rows[-1][1], rel=1e-2)  # training does learn
    for _, whole, least, most in rows:
        assert (least, most) == (pytest.approx(whole, rel=1e-5), pytest.approx(whole, rel=1e-5))


def test_the_session_says_what_fits_and_why_a_case_was_not_measured(found: Found) -> None:
    said = found[1]
    assert "searching the largest micro-batch that fits first: 4 sizes (find_batch)" in said
    assert "strong.1x2: a micro-batch of 4 fits, 8 does not" in said
    assert "largest.1x1: a micro-batch of 2 fits, the largest tried" in said
    assert "measured with 4 x 4 examples per rank, 16 in all." in said
    assert "nothing 1x1: not even a micro-batch of 1 fits a rank (oom)." in said
    assert "no micro-batch to measure with: find_batch tried 1: " in said


def test_a_search_that_is_stopped_goes_on_where_it_was(tmp_path: Path, one_process: OneProcess) -> None:
    command = [*begin(tmp_path), "--case", "strong", "--world", "1,16", "--no-load"]
    begun = Marked(tmp_path).start(*command)
    session = tmp_path / "r" / "s"
    while not (session / "strong.1x1.find4.r0" / "run.json").exists() and begun.poll() is None:
        time.sleep(0.02)
    (session / "STOP").touch()
    begun.communicate(timeout=60)
    assert begun.returncode == 143
    before = {path: path.stat().st_mtime_ns for path in finished(session)}
    assert before
    assert not (session / "strong.1x1.r0").exists()
    resumed = one_process.run(
        "suite", "--resume", "s", "--results", str(tmp_path / "r"), "--no-load", "--ranks-per-node", "2"
    )
    assert resumed.returncode == 0, resumed.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before, "what is done stays done"
    plan = [run["run_id"] for run in json.loads((session / "session.json").read_text())["plan"]]
    assert sorted(plan[:3]) == [f"{name}.r0" for name in sorted(PROBES) if name.startswith("strong.1x1.")]
    assert plan[3:] == ["strong.1x1.r0", "strong.1x16.r0"]
    again = one_process.run(
        "suite", "--resume", "s", "--results", str(tmp_path / "r"), "--no-load", "--ranks-per-node", "2"
    )
    assert "every run of its plan is done" in again.stderr


def finished(session: Path) -> list[Path]:
    """run.json of a process that ended by itself."""
    files = session.glob("*/run.json")
    return [file for file in files if json.loads(file.read_text())["outcome"]["status"] != "interrupted"]
