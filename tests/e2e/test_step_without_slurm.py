"""Runs over several tasks of a step: every rank's rows are there, and each fault is reported as the right one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.e2e.faulty_sessions import ddp, outcome, patience, suite_file
from tests.e2e.processes import Marked
from tests.e2e.tasks import Tasks

FAULTS = ["fail", "leave", "killed", "killed_late", "freeze", "endless"]
"""Faults of tests/e2e/faulty.py, each on the last rank, which the second agent hosts."""


class Ended:
    """A session that the tasks of one step have run."""

    def __init__(
        self, folder: Path, tasks_per_node: tuple[int, ...], cases: list[dict[str, Any]], *more: str
    ) -> None:
        self.results, self.marked = folder / "r", Marked(folder)
        suite = suite_file(folder, cases)
        command = ["suite", str(suite), "--results", str(self.results), "--session", "s", "--order", "fixed"]
        self.tasks = Tasks(self.marked, folder, tasks_per_node, *command, "--ranks-per-node", "4", *more)
        self.exit_codes = self.tasks.start().wait()

    def outcome(self, run_id: str) -> dict[str, Any]:
        return outcome(self.results, "s", run_id)

    def steps(self, run_id: str) -> dict[str, dict[int, list[int]]]:
        """Completed steps of each rank, by file."""
        return {
            path.name: steps_of(path)
            for path in sorted((self.results / "s" / run_id).glob("steps.*.parquet"))
        }


def steps_of(path: Path) -> dict[int, list[int]]:
    table = pq.read_table(path, columns=["rank", "step"]).to_pydict()
    found: dict[int, list[int]] = {}
    for rank, step in zip(table["rank"], table["step"], strict=True):
        found.setdefault(rank, []).append(step)
    return found


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """One task on each of two nodes, four slots each."""
    cases = [ddp("alone", world="1x2"), ddp("healthy", world="2x4", step_s=0.2)]
    cases += [ddp(fault, world="2x2", fault=fault, on_rank=3) | patience(fault, 6) for fault in FAULTS]
    return Ended(tmp_path_factory.mktemp("two_nodes"), (1, 1), [*cases, ddp("last", world="2x1")])


@pytest.fixture(scope="module")
def two_tasks(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Two tasks on one node, two slots each."""
    cases = [ddp("alone", world=2), ddp("healthy", world=4, step_s=0.2)]
    killed = ddp("killed", world=4, fault="killed", on_rank=3)
    return Ended(tmp_path_factory.mktemp("two_tasks"), (2,), [*cases, killed], "--no-load")


def test_the_leader_alone_says_how_the_session_went(two_nodes: Ended, two_tasks: Ended) -> None:
    assert (two_nodes.exit_codes, two_tasks.exit_codes) == ([1, 0], [1, 0])
    for ended in (two_nodes, two_tasks):
        leader, follower = ended.tasks.said()
        assert "healthy" in leader
        assert follower == ""


def test_every_node_writes_the_rows_of_its_ranks(two_nodes: Ended) -> None:
    steps = list(range(13))
    assert two_nodes.outcome("healthy.2x4.r0")["status"] == "ok"
    assert two_nodes.steps("healthy.2x4.r0") == {
        "steps.node0.parquet": dict.fromkeys(range(4), steps),
        "steps.node1.parquet": dict.fromkeys(range(4, 8), steps),
    }
    assert two_nodes.steps("alone.1x2.r0") == {"steps.node0.parquet": dict.fromkeys(range(2), steps)}


def test_every_task_of_a_node_writes_the_rows_of_its_ranks(two_tasks: Ended) -> None:
    steps = list(range(13))
    assert two_tasks.outcome("healthy.1x4.r0")["status"] == "ok"
    assert two_tasks.steps("healthy.1x4.r0") == {
        "steps.node0.parquet": dict.fromkeys((0, 1), steps),
        "steps.node0.task1.parquet": dict.fromkeys((2, 3), steps),
    }
    assert two_tasks.steps("alone.1x2.r0") == {"steps.node0.parquet": dict.fromkeys((0, 1), steps)}


def test_every_node_has_its_samples_and_its_facts(two_nodes: Ended) -> None:
    folder = two_nodes.results / "s" / "healthy.2x4.r0"
    nodes = {
        node: set(pq.read_table(folder / f"samples.node{node}.parquet")["node"].to_pylist())
        for node in (0, 1)
    }
    assert nodes == {0: {0}, 1: {1}}
    with duckdb.connect(str(two_nodes.results / "results.duckdb"), read_only=True) as connection:
        facts = connection.sql("SELECT node, value FROM environment WHERE key LIKE 'task%_slots'").fetchall()
    assert sorted(facts) == [(0, "4"), (1, "4")]


def test_two_tasks_of_a_node_have_samples_once(two_tasks: Ended) -> None:
    folder = two_tasks.results / "s" / "healthy.1x4.r0"
    assert [path.name for path in folder.glob("samples.*")] == ["samples.node0.parquet"]


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("fail", "RuntimeError: planted: the model did not like this batch (faulty.py:54, in fail)"),
        ("leave", "the process ended with exit code 3 before the run was over; its log may say why"),
        ("killed", "killed by SIGKILL"),
        ("killed_late", "killed by SIGKILL"),
    ],
)
def test_a_fault_on_the_second_agent_is_told_with_its_cause_rank_and_node(
    two_nodes: Ended, fault: str, cause: str
) -> None:
    said = two_nodes.outcome(f"{fault}.2x2.r0")
    told = (said["status"], said["error"], said["failed_rank"], said["failed_node"])
    assert told == ("failed", cause, 3, 1)


def test_a_fault_on_the_second_task_of_a_node_is_told_with_its_rank(two_tasks: Ended) -> None:
    said = two_tasks.outcome("killed.1x4.r0")
    told = (said["status"], said["error"], said["failed_rank"], said["failed_node"])
    assert told == ("failed", "killed by SIGKILL", 3, 0)


def test_a_stopped_rank_of_the_second_agent_is_named_at_the_timeout(two_nodes: Ended) -> None:
    said = two_nodes.outcome("freeze.2x2.r0")
    assert (said["status"], said["failed_rank"], said["failed_node"]) == ("timeout", 3, 1)
    assert "steps completed: rank 0: 5, rank 1: 5, rank 2: 5, rank 3: 5; rank 3 is stopped" in said["error"]


def test_a_rank_of_the_second_agent_that_never_returns_is_named_and_every_rank_writes_its_stacks(
    two_nodes: Ended,
) -> None:
    said = two_nodes.outcome("endless.2x2.r0")
    assert (said["status"], said["failed_rank"], said["failed_node"]) == ("timeout", 3, 1)
    assert "in endless" in said["error"]
    logs = [two_nodes.results / "s/endless.2x2.r0" / f"rank{rank}.log" for rank in range(4)]
    assert ["in endless" in log.read_text() for log in logs] == [False, False, False, True]
    assert ["in backward" in log.read_text() for log in logs] == [True, True, True, False]


@pytest.mark.parametrize("fault", FAULTS)
def test_every_completed_step_of_every_rank_is_kept(two_nodes: Ended, fault: str) -> None:
    files = two_nodes.steps(f"{fault}.2x2.r0")
    kept = {rank: steps for ranks in files.values() for rank, steps in ranks.items()}
    assert {name: sorted(ranks) for name, ranks in files.items()} == {
        "steps.node0.parquet": [0, 1],
        "steps.node1.parquet": [2, 3],
    }
    assert kept.pop(3) == list(range(5))
    # a rank that loses its connection may have one step fewer than the lost rank
    assert all(steps in (list(range(4)), list(range(5))) for steps in kept.values())


def test_the_session_goes_on_with_all_tasks(two_nodes: Ended) -> None:
    assert two_nodes.outcome("last.2x1.r0")["status"] == "ok"


def test_no_process_and_no_scratch_is_left(two_nodes: Ended, two_tasks: Ended) -> None:
    for ended in (two_nodes, two_tasks):
        assert ended.marked.left() == []
        assert list(ended.results.parent.glob("bench-*")) == []
        assert [path.name for path in ended.results.glob(".*")] == []


def test_a_mistake_in_the_suite_is_told_once_and_ends_every_task(tmp_path: Path) -> None:
    marked = Marked(tmp_path)
    suite = suite_file(tmp_path, [ddp("healthy")], stepz=3)
    tasks = Tasks(marked, tmp_path, (1, 2), "suite", str(suite), "--results", str(tmp_path / "r"))
    assert tasks.start().wait() == [2, 0, 0]
    assert "".join(tasks.said()).count("unknown key 'stepz' in measure") == 1
    assert tasks.said()[1:] == ["", ""]
    assert list((tmp_path / "r").iterdir()) == []
    assert marked.left() == []
