"""One session over two nodes is asked to stop, loses its leader, loses a follower, and is completed in the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow.parquet as pq
import pytest

from bench.common.files import read_json
from bench.measure import recorder
from tests.e2e.faulty_sessions import ddp, suite_file
from tests.e2e.processes import Marked
from tests.e2e.tasks import PATIENCE_S, Tasks

RUNS = ("slow.2x2.r0", "alone.1x2.r0", "together.2x1.r0")
ROWS = 5
"""Completed steps of every rank before the test acts on the session: rank 3 waits in the sixth."""
STEPS = 13
"""Steps of a run of `slow`, warm-up included."""


@dataclass(kw_only=True)
class Stage:
    """State after one step, which begins or resumes the session."""

    exit_codes: list[int]
    said: list[str]
    left: list[str]
    outcomes: dict[str, dict[str, Any] | None]
    """Status by run; null if it has none."""
    files: dict[str, list[str]]
    """Step rows of each run, by name."""
    scratch: list[str]


@dataclass(kw_only=True)
class Watched:
    """Observations of the processes of a running step."""

    shared: bytes
    """The step's secret."""
    seen: str = ""
    """Every command line and environment."""
    listening: set[str] = field(default_factory=set)
    """Addresses on which any of the processes listens."""
    agents_listen: bool = False

    def look_at(self, process: psutil.Process, agents: set[int]) -> None:
        self.seen += " ".join([*process.cmdline(), *process.environ().values()])
        found = {one.laddr.ip for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN}
        self.listening |= found
        self.agents_listen |= bool(found) and process.pid in agents


class Story:
    """The session's folder and marked processes, and its stages in order."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.results, self.marked = folder, folder / "r", Marked(folder)
        self._common = ("--results", str(self.results), "--ranks-per-node", "4", "--no-load")
        self.stages: dict[str, Stage] = {}
        self.loaded: list[str] = []
        self.watched: Watched | None = None

    def stage(self, name: str, *arguments: str, then: Callable[[Tasks], object] | None = None) -> None:
        """Run `bench suite` as two tasks; `then` is called once every rank of the slow run has some rows."""
        tasks = Tasks(self.marked, self.folder, (1, 1), "suite", *arguments, *self._common)
        tasks.start(self._find_the_secret if self.watched is None else lambda: None)
        if then is not None:
            self._await_rows(tasks)
            then(tasks)
        self.stages[name] = Stage(
            exit_codes=tasks.wait(),
            left=self.marked.left(PATIENCE_S),
            said=tasks.said(),
            outcomes={run: self._outcome(run) for run in RUNS},
            files={run: sorted(path.name for path in self._run(run).glob("steps.*")) for run in RUNS},
            scratch=[path.name for path in self.folder.glob("bench-*")],
        )

    def look_around(self, tasks: Tasks) -> None:
        assert self.watched is not None
        agents = {process.pid for process in tasks.processes}
        for line in self.marked.left(0):
            with suppress(psutil.NoSuchProcess):  # a process that has just ended
                self.watched.look_at(psutil.Process(int(line.partition(":")[0])), agents)

    def load(self) -> None:
        done = self.marked.run("load", str(self.results))
        self.loaded.append(done.stdout + done.stderr)

    def _find_the_secret(self) -> None:
        _until(lambda: any(path.stat().st_size for path in self.results.glob(".step-*")))
        (path,) = self.results.glob(".step-*")
        self.watched = Watched(shared=path.read_bytes())

    def _await_rows(self, tasks: Tasks) -> None:
        def all_there() -> bool:
            assert all(process.poll() is None for process in tasks.processes), tasks.said()
            raws = list(self.folder.glob("bench-*/slow.*/steps.rank*.raw"))
            return sorted(path.name for path in raws if _rows(path) >= ROWS) == [
                f"steps.rank{rank}.raw" for rank in range(4)
            ]

        _until(all_there)

    def _run(self, run_id: str) -> Path:
        return self.results / "s" / run_id

    def _outcome(self, run_id: str) -> dict[str, Any] | None:
        path = self._run(run_id) / "run.json"
        return read_json(path)["outcome"] if path.exists() else None


def _rows(raw: Path) -> int:
    last = recorder.peek(raw)
    return 0 if last is None else last.rows


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    told = Story(tmp_path_factory.mktemp("story"))
    hold = told.folder / "hold"
    hold.touch()
    cases = [
        ddp("slow", world="2x2", hold=str(hold), on_rank=3),
        ddp("alone", world="1x2"),
        ddp("together", world="2x1"),
    ]
    suite = suite_file(told.folder, cases, steps=STEPS - 1, timeout_s=300)

    def stop(tasks: Tasks) -> None:
        told.look_around(tasks)
        (told.results / "s" / "STOP").touch()

    told.stage("stopped", str(suite), "--session", "s", "--order", "fixed", then=stop)
    told.stage("leader killed", "--resume", "s", then=lambda tasks: tasks.processes[0].kill())
    told.stage("follower killed", "--resume", "s", then=lambda tasks: tasks.processes[1].kill())
    told.load()
    hold.unlink()
    told.stage("completed", "--resume", "s")
    told.load()
    return told


def status(outcome: dict[str, Any] | None) -> str | None:
    return None if outcome is None else outcome["status"]


def test_no_process_and_no_scratch_is_left_whatever_ended_a_step(story: Story) -> None:
    assert {name: (stage.left, stage.scratch) for name, stage in story.stages.items()} == dict.fromkeys(
        story.stages, ([], [])
    )


def test_nothing_in_a_command_line_or_environment_tells_the_secret(story: Story) -> None:
    assert story.watched is not None
    assert len(story.watched.shared) == 32
    assert "bench: fork server" in story.watched.seen
    assert story.watched.shared.hex() not in story.watched.seen
    assert story.watched.shared.decode("latin-1") not in story.watched.seen
    assert list(story.results.glob(".step-*")) == []


def test_processes_are_named_after_what_they_do(story: Story) -> None:
    assert story.watched is not None
    names = ("fork server", "sensors", "keeper", *(f"rank {rank} of slow.2x2.r0" for rank in range(4)))
    assert [name for name in names if f"bench: {name}" not in story.watched.seen] == []


def test_during_a_run_ranks_listen_on_one_address_and_agents_on_none(story: Story) -> None:
    assert story.watched is not None
    assert story.watched.listening == {"127.0.0.1"}
    assert not story.watched.agents_listen


def test_a_stop_file_stops_every_task_and_keeps_the_rows_of_all(story: Story) -> None:
    stage = story.stages["stopped"]
    assert stage.exit_codes == [143, 0]
    assert "suite --resume s" in stage.said[0]
    outcome = stage.outcomes["slow.2x2.r0"]
    assert outcome is not None
    assert (outcome["status"], outcome["error"]) == ("interrupted", "stopped by the file STOP")
    assert (outcome["failed_rank"], outcome["finalised"]) == (None, False)
    assert stage.files["slow.2x2.r0"] == [f"steps.rank{rank}.raw" for rank in range(4)]
    assert stage.outcomes["alone.1x2.r0"] is None


def test_without_its_leader_a_follower_ends_itself_and_every_row_is_kept(story: Story) -> None:
    stage = story.stages["leader killed"]
    assert stage.exit_codes == [-9, 1]
    assert "task 1 on 127.0.0.1: the leading task is gone: " in stage.said[1]
    assert stage.said[1].count("\n") == 1
    assert stage.outcomes["slow.2x2.r0"] is None
    assert stage.files["slow.2x2.r0"] == [f"steps.rank{rank}.raw" for rank in range(4)]


def test_a_killed_follower_fails_its_run_and_is_told_by_task_and_node(story: Story) -> None:
    stage = story.stages["follower killed"]
    assert stage.exit_codes == [1, -9]
    outcome = stage.outcomes["slow.2x2.r0"]
    assert outcome is not None
    assert outcome["status"] == "failed"
    assert outcome["error"].startswith("the agent of task 1 on 127.0.0.1 is gone: ")
    assert (outcome["failed_rank"], outcome["failed_node"]) == (None, 1)


def test_the_rows_of_a_killed_follower_are_raw_files_until_they_are_loaded(story: Story) -> None:
    files = story.stages["follower killed"].files["slow.2x2.r0"]
    assert files == ["steps.node0.parquet", "steps.rank2.raw", "steps.rank3.raw"]
    assert "left out" not in story.loaded[0]
    folder = story.results / "s/slow.2x2.r0"
    aside = pq.read_table(folder / "attempt2/steps.node1.parquet", columns=["rank"])["rank"].to_pylist()
    assert set(aside) == {2, 3}
    assert list(folder.rglob("*.raw")) == []


def test_runs_that_need_no_lost_follower_go_on_and_the_others_are_skipped(story: Story) -> None:
    outcomes = story.stages["follower killed"].outcomes
    assert status(outcomes["alone.1x2.r0"]) == "ok"
    skipped = outcomes["together.2x1.r0"]
    assert skipped is not None
    assert (skipped["status"], skipped["skipped_for"]) == ("skipped", "agents")
    assert skipped["error"] == "needs 2 nodes, this step has 1 left"


def test_a_resume_with_all_tasks_completes_the_session(story: Story) -> None:
    stage = story.stages["completed"]
    assert stage.exit_codes == [0, 0]
    assert [status(stage.outcomes[run]) for run in RUNS] == ["ok", "ok", "ok"]
    assert read_json(story.results / "s/session.json")["finished_at"] is not None


def test_the_database_has_every_attempt_with_the_rows_of_every_rank(story: Story) -> None:
    query = (
        "SELECT attempt, any_value(status), count(DISTINCT rank), min(n) FROM runs JOIN"
        " (SELECT run_id, attempt, rank, count(*) AS n FROM steps GROUP BY ALL) USING (run_id, attempt)"
        " WHERE run_id = 'slow.2x2.r0' GROUP BY attempt ORDER BY attempt"
    )
    with duckdb.connect(str(story.results / "results.duckdb"), read_only=True) as connection:
        rows = connection.sql(query).fetchall()
    assert [row[:3] for row in rows] == [
        (0, "interrupted", 4),
        (1, "interrupted", 4),
        (2, "failed", 4),
        (3, "ok", 4),
    ]
    assert all(row[3] >= ROWS for row in rows)
    assert rows[3][3] == STEPS


def test_a_run_that_was_not_lost_was_run_once(story: Story) -> None:
    assert not list((story.results / "s/alone.1x2.r0").glob("attempt*"))
    assert (story.results / "s/together.2x1.r0/attempt0/run.json").exists()
