"""A rank that fails becomes a row with its cause, every completed step is kept, and no process stays behind."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from processes import Marked, OneProcess

from tests.e2e.faulty_sessions import FAULTY, ddp, outcome, patience, start_held, suite_file

LIKE = '    raise RuntimeError("planted: the model did not like this batch")'
PLACE = f" (faulty.py:{FAULTY.read_text().splitlines().index(LIKE) + 1}, in fail)"
FAULTS = [
    "fail", "leave", "killed", "crash", "freeze", "python_memory", "tensor_memory", "endless", "in_the_loader"
]  # fmt: skip


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Marked, Any]:
    """One session: each fault on rank 1 of 2 after five completed steps, and a healthy run at the end."""
    folder = tmp_path_factory.mktemp("faults")
    cases = [ddp(fault.replace("_", "-"), fault=fault) | patience(fault) for fault in FAULTS]
    loaders = ddp("killed-with-loaders", fault="killed") | {"data": {"workers": 2}}
    starved = (
        ddp("endless-loader", fault="in_the_loader") | {"data": {"workers": 1}} | patience("in_the_loader")
    )
    nan = ddp("nan-is-noted", fault="nan"), ddp("nan-fails", fault="nan") | {"measure": {"nonfinite": "fail"}}
    marked = Marked(folder)
    suite = suite_file(folder, [*cases, loaders, starved, *nan, ddp("healthy")])
    done = marked.run(
        "suite", str(suite), "--results", str(folder / "r"), "--session", "s", "--ranks-per-node", "2"
    )
    return folder / "r", marked, done


@pytest.mark.parametrize(
    ("case", "status", "cause"),
    [
        ("fail", "failed", f"RuntimeError: planted: the model did not like this batch{PLACE}"),
        (
            "leave",
            "failed",
            "the process ended with exit code 3 before the run was over; its log may say why",
        ),
        ("killed", "failed", "killed by SIGKILL"),
        ("crash", "failed", "killed by SIGSEGV"),
        ("nan-fails", "failed", "NonFiniteLossError: loss of step 5 is not finite: nan"),
        ("python-memory", "oom", "MemoryError: no message"),
        ("killed-with-loaders", "failed", "killed by SIGKILL"),
    ],
)
def test_a_fault_is_a_row_with_its_cause_and_rank(
    faults: tuple[Path, Marked, Any], case: str, status: str, cause: str
) -> None:
    said = outcome(faults[0], "s", f"{case}.1x2.r0")
    assert (said["status"], said["error"], said["failed_rank"], said["failed_node"]) == (status, cause, 1, 0)


def test_a_tensor_that_does_not_fit_is_out_of_memory(faults: tuple[Path, Marked, Any]) -> None:
    said = outcome(faults[0], "s", "tensor-memory.1x2.r0")
    assert (said["status"], said["failed_rank"]) == ("oom", 1)
    assert "DefaultCPUAllocator" in said["error"]


def test_a_stopped_rank_times_out_and_is_named(faults: tuple[Path, Marked, Any]) -> None:
    said = outcome(faults[0], "s", "freeze.1x2.r0")
    assert (said["status"], said["failed_rank"]) == ("timeout", 1)
    assert "not done after 4 s (measure.timeout_s)" in said["error"]
    assert "rank 1 is stopped" in said["error"]


def test_a_rank_that_never_returns_times_out_with_every_ranks_stack(faults: tuple[Path, Marked, Any]) -> None:
    said = outcome(faults[0], "s", "endless.1x2.r0")
    assert said["status"] == "timeout"
    assert "rank 0: 5, rank 1: 5" in said["error"]
    assert "in endless" in (faults[0] / "s/endless.1x2.r0/rank1.log").read_text()
    assert "in backward" in (faults[0] / "s/endless.1x2.r0/rank0.log").read_text()


@pytest.mark.parametrize(
    ("case", "completed"),
    [
        *((fault.replace("_", "-"), 5) for fault in FAULTS),
        ("killed-with-loaders", 5),
        ("endless-loader", 5),
        ("nan-is-noted", 13),
        ("nan-fails", 6),  # the step with the faulty loss was completed
    ],
)
def test_every_completed_step_is_kept(faults: tuple[Path, Marked, Any], case: str, completed: int) -> None:
    folder = faults[0] / "s" / f"{case}.1x2.r0"
    rows = pq.read_table(folder / "steps.node0.parquet").to_pydict()
    by_rank = {
        rank: [s for s, r in zip(rows["step"], rows["rank"], strict=True) if r == rank] for rank in (0, 1)
    }
    assert by_rank == {rank: list(range(completed)) for rank in (0, 1)}


def test_a_loss_that_is_not_finite_is_a_finding_unless_the_suite_says_fail(
    faults: tuple[Path, Marked, Any],
) -> None:
    query = "SELECT status, nonfinite_losses FROM run_summary WHERE case_name = $1"
    with duckdb.connect(str(faults[0] / "results.duckdb"), read_only=True) as connection:
        noted = connection.execute(query, ["nan-is-noted"]).fetchall()
        failed = connection.execute(query, ["nan-fails"]).fetchall()
        found = connection.sql("SELECT case_name FROM diagnosis WHERE finding = 'nonfinite_loss'").fetchall()
    assert noted == [("ok", 1 + 7 * 2)]  # first one rank's loss, then all of both ranks
    assert failed == [("failed", 1)]
    assert {case for (case,) in found} == {"nan-is-noted", "nan-fails"}


def test_the_session_goes_on_and_says_that_something_failed(faults: tuple[Path, Marked, Any]) -> None:
    assert outcome(faults[0], "s", "healthy.1x2.r0")["status"] == "ok"
    assert faults[2].returncode == 1


def test_no_process_is_left_loader_workers_included(faults: tuple[Path, Marked, Any]) -> None:
    assert faults[1].left() == []


def test_no_folder_of_scratch_is_left(faults: tuple[Path, Marked, Any]) -> None:
    assert list(faults[0].parent.glob("bench-*")) == []
    assert list(faults[0].parent.glob("pymp-*")) == []


def test_nothing_is_left_in_shared_memory(faults: tuple[Path, Marked, Any]) -> None:
    assert faults[1].left_in_shared_memory() == set()


def test_a_loader_that_never_delivers_times_out_and_its_rank_is_named(
    faults: tuple[Path, Marked, Any],
) -> None:
    said = {case: outcome(faults[0], "s", f"{case}.1x2.r0") for case in ("in-the-loader", "endless-loader")}
    assert {case: (one["status"], one["failed_rank"]) for case, one in said.items()} == dict.fromkeys(
        said, ("timeout", 1)
    )
    assert "rank 1 is at faulty.py line " in said["in-the-loader"]["error"]
    assert "rank 1 is at " in said["endless-loader"]["error"]


def test_the_database_has_a_row_for_every_fault(faults: tuple[Path, Marked, Any]) -> None:
    with duckdb.connect(str(faults[0] / "results.duckdb"), read_only=True) as connection:
        rows = connection.sql("select status, count(*) from runs group by status order by status").fetchall()
    assert rows == [("failed", 6), ("ok", 2), ("oom", 2), ("timeout", 4)]


def test_a_session_that_was_told_to_stop_fails_no_other(tmp_path: Path, one_process: OneProcess) -> None:
    marked = Marked(tmp_path)
    process = start_held(tmp_path, marked)
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=60)
    where = ("--results", str(tmp_path / "r"), "--ranks-per-node", "2")
    suite = suite_file(tmp_path, [ddp("nan-is-noted", fault="nan")])
    done = one_process.run("suite", str(suite), *where, "--session", "t")
    assert done.returncode == 0, done.stderr
    assert "left out: s/slow.1x2.r0" in done.stdout


def test_a_rank_that_stays_after_its_rows_are_stored_is_ended_and_its_run_is_ok(
    tmp_path: Path, one_process: OneProcess
) -> None:
    suite = suite_file(tmp_path, [ddp("stays", fault="stays"), ddp("healthy")])
    where = ("--results", str(tmp_path / "r"), "--ranks-per-node", "2", "--no-load", "--order", "fixed")
    done = one_process.run("suite", str(suite), *where, "--session", "s")
    assert done.returncode == 0, done.stderr
    (note,) = [line for line in done.stderr.splitlines() if "did not end within" in line]
    assert "rank 1 of stays.1x2.r0 had stored all of its rows" in note
    found = outcome(tmp_path / "r", "s", "stays.1x2.r0")
    assert (found["status"], found["error"], found["steps_completed"]) == ("ok", None, 13)
    assert found["ranks_ended"] == 1
    assert outcome(tmp_path / "r", "s", "healthy.1x2.r0")["ranks_ended"] == 0
    assert 15 <= found["elapsed_s"] < 60


def test_a_dead_server_fails_its_run_the_next_run_gets_a_new_one_and_a_resume_runs_the_first_anew(
    tmp_path: Path, one_process: OneProcess
) -> None:
    marked = Marked(tmp_path)
    process = start_held(tmp_path, marked, "--no-load")
    server = next(
        int(line.partition(":")[0])
        for line in marked.left(0)
        if "bench: fork server" in line and _parent(line) == process.pid
    )
    os.kill(server, signal.SIGKILL)
    process.communicate(timeout=120)
    assert outcome(tmp_path / "r", "s", "slow.1x2.r0")["status"] == "failed"
    later = tmp_path / "r/s/later.1x2.r0"
    assert outcome(tmp_path / "r", "s", later.name)["status"] == "ok"
    assert marked.left() == []
    (tmp_path / "hold").unlink()
    before = (later / "run.json").stat()
    where = ("--results", str(tmp_path / "r"), "--ranks-per-node", "2", "--no-load")
    done = one_process.run("suite", "--resume", "s", *where)
    assert done.returncode == 0, done.stderr
    slow = tmp_path / "r/s/slow.1x2.r0"
    assert json.loads((slow / "run.json").read_text())["attempt"] == 1
    assert pq.read_metadata(slow / "attempt0/steps.node0.parquet").num_rows == 10
    assert (later / "run.json").stat() == before


def _parent(line: str) -> int:
    status = Path(f"/proc/{line.partition(':')[0]}/status").read_text()
    return int(next(row.split()[1] for row in status.splitlines() if row.startswith("PPid:")))
