"""Ranks and agents fail on a real cluster: the row names the rank and the cause, and the session goes on."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import Any

import pytest

from tests.e2e.cluster.nodes import Nodes
from tests.e2e.cluster.studies import ROWS, Step, Study, figures, held_case, in_the_middle_of

CASES = [
    held_case("killed"),
    held_case("hang", measure={"timeout_s": 10}),
    held_case("healthy"),
    held_case("agent"),
    held_case("after", "2x1", "1x2"),
]
"""One session, in which three runs fail on n2."""


@pytest.fixture(scope="module")
def hurt(cluster: Any, image: str, nodes: Nodes) -> tuple[Study, Step, Step]:
    """The session, and the step that resumed it."""
    study = Study(cluster, image, "hurt")
    study.write_suite("hurt", CASES)
    for name in ("killed", "hang", "agent"):
        study.hold(name)
    step = study.start("./hurt.yaml --session s")
    for name, strike in (
        ("killed", lambda: os.kill(nodes.ranks()[3].pid, signal.SIGKILL)),
        ("hang", lambda: None),
        ("agent", lambda: os.kill(nodes.agents()[1].pid, signal.SIGKILL)),
    ):
        in_the_middle_of(f"{name}.2x2.r0", step, nodes)
        ranks = list(nodes.ranks().values())
        assert [rank.node for rank in ranks].count("n2") == 2
        begun_s = time.monotonic()
        strike()
        row = study.run_json("s", f"{name}.2x2.r0")
        figures(name, begun_s, row, lambda ranks=ranks: not any(rank.alive for rank in ranks))
    step.wait()
    for name in ("killed", "hang", "agent"):
        study.release(name)
    return study, step, study.finish("--resume s")


def outcome(study: Study, run_id: str) -> dict[str, Any]:
    """Outcome of the first attempt."""
    aside = study.folder / "s" / run_id / "attempt0"
    return study.outcome("s", f"{run_id}/attempt0" if aside.exists() else run_id)


def test_a_killed_rank_is_named_with_its_node(hurt: tuple[Study, Step, Step]) -> None:
    said = outcome(hurt[0], "killed.2x2.r0")
    assert (said["status"], said["error"]) == ("failed", "killed by SIGKILL")
    assert (said["failed_rank"], said["failed_node"], said["steps_completed"]) == (3, 1, 5)


def test_a_rank_that_hangs_while_the_others_wait_is_named_and_every_stack_is_in_the_logs(
    hurt: tuple[Study, Step, Step],
) -> None:
    said = outcome(hurt[0], "hang.2x2.r0")
    assert (said["status"], said["failed_rank"], said["failed_node"]) == ("timeout", 3, 1)
    assert re.search(
        r"rank 3: 5; rank 3 is at held.py line \d+ in wait_for_the_end_of; stacks are in", said["error"]
    )
    logs = hurt[0].folder / "s/hang.2x2.r0/attempt0"
    assert "in wait_for_the_end_of" in (logs / "rank3.log").read_text()
    assert all("in backward" in (logs / f"rank{rank}.log").read_text() for rank in range(3))


def test_a_killed_agent_is_named_with_its_node(hurt: tuple[Study, Step, Step]) -> None:
    said = outcome(hurt[0], "agent.2x2.r0")
    assert said["status"] == "failed"
    assert said["error"].startswith("the agent of task 1 on n2 is gone: ")
    assert (said["failed_rank"], said["failed_node"]) == (None, 1)


def test_later_runs_go_on_where_the_step_still_lives(hurt: tuple[Study, Step, Step]) -> None:
    assert outcome(hurt[0], "healthy.2x2.r0")["status"] == "ok"
    assert outcome(hurt[0], "after.1x2.r0")["status"] == "ok"
    said = outcome(hurt[0], "after.2x1.r0")
    assert (said["status"], said["error"]) == ("skipped", "needs 2 nodes, this step has 1 left")
    assert hurt[1].wait() == 128 + signal.SIGKILL  # srun's exit code: that of the killed agent


def test_every_completed_step_of_what_went_wrong_is_kept(hurt: tuple[Study, Step, Step]) -> None:
    for name in ("killed", "hang", "agent"):
        assert hurt[0].rows("s", f"{name}.2x2.r0", attempt=0) == ROWS


def test_a_resume_in_a_new_job_runs_them_and_what_was_skipped(hurt: tuple[Study, Step, Step]) -> None:
    assert hurt[2].wait() == 0, hurt[2].said
    runs = hurt[0].asked("SELECT run_id, attempt FROM runs WHERE status = 'ok' ORDER BY ALL")
    assert runs == [
        ("after.1x2.r0", 0), ("after.2x1.r0", 1), ("agent.2x2.r0", 1), ("hang.2x2.r0", 1), ("healthy.2x2.r0", 0),
        ("killed.2x2.r0", 1),
    ]  # fmt: skip
    assert hurt[0].rows("s", "agent.2x2.r0", attempt=1) == dict.fromkeys(range(4), 12)


def test_no_process_and_no_scratch_folder_is_left(hurt: tuple[Study, Step, Step], nodes: Nodes) -> None:
    assert nodes.left() == []


def test_a_node_whose_network_is_gone_is_missed_within_seconds(
    cluster: Any, image: str, nodes: Nodes, idle_nodes: None
) -> None:
    """The node closes no connection, and Slurm notices only minutes later."""
    study = Study(cluster, image, "unplugged")
    study.write_suite("unplugged", [held_case("unplugged"), held_case("after", "1x2")])
    study.hold("unplugged")
    step = study.start("./unplugged.yaml --session s")
    in_the_middle_of("unplugged.2x2.r0", step, nodes)
    begun_s = time.monotonic()
    cluster.run("ip -n n2 link set eth0 down", root=True)
    try:
        row = study.run_json("s", "unplugged.2x2.r0")
        figures("unplugged", begun_s, row, lambda: not any(one.node == "n2" for one in nodes.processes()))
    finally:
        cluster.run("ip -n n2 link set eth0 up", root=True)
    step.wait()
    said = study.outcome("s", "unplugged.2x2.r0")
    assert (said["status"], said["failed_node"]) == ("failed", 1)
    assert said["error"].startswith("the agent of task 1 on n2 is gone: ")
    assert study.outcome("s", "after.1x2.r0")["status"] == "ok"
    # on a real cluster the results folder is on a network: rows that the node could still store are not promised
    assert study.rows("s", "unplugged.2x2.r0", attempt=0).items() >= {0: 5, 1: 5}.items()
    assert nodes.left() == []
