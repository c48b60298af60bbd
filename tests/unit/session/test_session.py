"""A session's folder: one writer, attempts kept aside, completed runs stay complete."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.cluster.gather import Gathered
from bench.common.errors import InputError
from bench.common.files import read_json
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import DataSpec, MeasureSpec, PlannedRun, RunSpec, Slots, TrainSpec
from bench.records.session_head import SessionHead
from bench.session.folder import SessionFolder, new_session_id, utc_now
from bench.session.start import resume
from bench.session.time_left import TimeLeft


def run_spec(**changes: object) -> RunSpec:
    values: dict[str, object] = {
        "session_id": "s1", "run_id": "ddp.1x2.r0", "suite": "smoke", "case_name": "ddp", "workload": "spiral_mlp",
        "workload_options": {}, "data": DataSpec(), "train": TrainSpec(seed=5), "measure": MeasureSpec(steps=3),
        "strategy": "ddp", "strategy_options": {}, "scaling": "strong", "axis": "ranks", "workers": 2,
        "world_size": 2, "nodes": 1, "ranks_per_node": 2, "threads": 1, "repeat": 0, "device_type": "cpu",
        "batch_per_rank": 8, "global_batch": 16,
    }  # fmt: skip
    return RunSpec(**(values | changes))  # type: ignore[arg-type]


def head(session_id: str) -> SessionHead:
    return SessionHead(session_id=session_id, suite="smoke", created_at=utc_now())


@pytest.fixture
def session(tmp_path: Path) -> SessionFolder:
    folder = SessionFolder(tmp_path, "s1")
    folder.lock()
    folder.create(head("s1"), (PlannedRun(spec=run_spec()), PlannedRun(spec=run_spec(), skip_reason="why")))
    return folder


def finish(session: SessionFolder, attempt: int, **outcome: Any) -> None:
    (session.path / "ddp.1x2.r0" / "steps.node0.parquet").write_text(f"rows of attempt {attempt}")
    session.write_run(run_spec(attempt=attempt), RunOutcome(**outcome), {})


def test_the_plan_comes_back_as_it_was_made(session: SessionFolder) -> None:
    assert session.plan() == (PlannedRun(spec=run_spec()), PlannedRun(spec=run_spec(), skip_reason="why"))


@pytest.mark.parametrize("status", ["ok", "oom", "skipped"])
def test_a_finished_run_is_never_run_again(session: SessionFolder, status: str) -> None:
    session.begin(run_spec())
    finish(session, 0, status=status)
    assert session.begin(run_spec()) is None


@pytest.mark.parametrize(
    "outcome",
    [
        {"status": "failed"},
        {"status": "timeout"},
        {"status": "interrupted"},
        {"status": "skipped", "skipped_for": "time"},
    ],
)
def test_an_unfinished_run_is_a_new_attempt_and_the_old_ones_files_are_kept(
    session: SessionFolder, outcome: dict[str, str]
) -> None:
    begun = session.begin(run_spec())
    assert begun is not None
    folder, attempt = begun
    assert attempt == 0
    finish(session, 0, **outcome)
    assert session.begin(run_spec()) == (folder, 1)
    assert (folder / "attempt0" / "steps.node0.parquet").read_text() == "rows of attempt 0"
    assert read_json(folder / "attempt0" / "run.json")["outcome"]["status"] == outcome["status"]
    assert not (folder / "run.json").exists()
    finish(session, 1, status="ok")
    assert session.begin(run_spec()) is None


def test_a_plan_is_extended_in_both_files_that_tell_it(session: SessionFolder) -> None:
    more = PlannedRun(spec=run_spec(run_id="ddp.1x2.r1", repeat=1))
    whole = (*session.plan(), more)
    session.replan(whole)
    assert session.plan() == whole == (*whole[:2], more)
    assert [run["run_id"] for run in session.head()["plan"]] == ["ddp.1x2.r0", "ddp.1x2.r0", "ddp.1x2.r1"]
    assert session.head()["suite"] == "smoke"


def test_a_second_writer_is_told_to_wait(session: SessionFolder) -> None:
    program = (
        "import sys; from pathlib import Path; from bench.session.folder import SessionFolder\n"
        "SessionFolder(Path(sys.argv[1]), 's1').lock()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(session.path.parent)], capture_output=True, text=True, check=False
    )
    assert "session s1 is being written by another process" in done.stderr


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", "", "x" * 200, "a b"])
def test_a_session_name_is_a_plain_folder_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is not a valid session name"):
        SessionFolder(tmp_path, name)


def test_session_ids_sort_by_time_and_name_their_suite() -> None:
    first, second = new_session_id("smoke"), new_session_id("smoke")
    assert first[:16] <= second[:16]
    assert first != second
    assert first.split("-")[1] == "smoke"


def test_a_session_without_a_plan_cannot_be_resumed(session: SessionFolder) -> None:
    (session.path / "plan.json").write_text("{")
    with pytest.raises(InputError, match=r"plan\.json cannot be read, so nothing can be resumed"):
        session.plan()


def test_a_damaged_run_json_is_named_before_anything_is_moved(session: SessionFolder) -> None:
    session.begin(run_spec())
    (session.path / "ddp.1x2.r0" / "run.json").write_text('{"attempt": 0')
    with pytest.raises(InputError, match=r"ddp\.1x2\.r0/run\.json"):
        session.begin(run_spec())


@pytest.mark.parametrize(("probed", "failed", "exit_code"), [("ok", 0, 0), ("oom", 0, 0), ("failed", 1, 1)])
def test_the_runs_that_a_session_ended_with_are_the_measured_ones(
    session: SessionFolder, probed: str, failed: int, exit_code: int
) -> None:
    slots = Slots(slots_per_node=2, cpus_per_node=2, device_type="cpu")
    probe = run_spec(run_id="ddp.1x2.find8.r0", probe=True)
    plan = (PlannedRun(spec=probe), PlannedRun(spec=run_spec()))
    session.replan(plan)
    session.update(finished_at="then", slots=asdict(slots))
    for run, status in zip(plan, (probed, "ok"), strict=True):
        session.begin(run.spec)
        session.write_run(run.spec, RunOutcome(status=status), {})
    ended = resume(session, cast(Gathered, SimpleNamespace(slots=slots)), cast(TimeLeft, None))
    assert (ended.statuses, ended.failed_probes, ended.exit_code) == ({"ok": 1}, failed, exit_code)
