"""A session on a real cluster is ended in several ways: its rows are kept, and a resume completes it without a
trace."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.cluster.nodes import Nodes, until
from tests.e2e.cluster.studies import (
    ONE_TASK_PER_NODE,
    ROWS,
    Step,
    Study,
    figures,
    held_case,
    in_the_middle_of,
)

pytestmark = pytest.mark.usefixtures("idle_nodes")
CASES = [
    held_case("first"),
    held_case("leader"),
    held_case("stop"),
    # trains while its image goes away
    held_case("scancel", workload={"step_s": 0.01}, measure={"steps": 149}),
    held_case("down"),
    held_case("last"),
]
"""One session that is ended in the middle of each run except the first and the last; the next step resumes it."""
FULL = {"scancel.2x2.r0": 150}
"""Rows of each rank of a complete run, if they are not 12."""


@pytest.fixture(scope="module")
def chain(cluster: Any, image: str) -> Study:
    """A study with the undisturbed session `whole`."""
    study = Study(cluster, image, "chain")
    study.write_suite("chain", CASES)
    step = study.finish("./chain.yaml --session whole")
    assert step.wait() == 0, step.said
    return study


def ended_while(name: str, study: Study, nodes: Nodes, strike: Callable[[], object]) -> Step:
    """The step in which the session was ended this way; earlier runs of the plan are done."""
    run_id = f"{name}.2x2.r0"
    study.hold(name)
    step = study.start("./chain.yaml --session s")
    if name == "scancel":
        until(lambda: step.ended or sum(nodes.rows(run_id).values()) > 20, "training")
    else:
        in_the_middle_of(run_id, step, nodes)
    begun_s = time.monotonic()
    strike()
    row = None if name == "leader" else study.run_json("s", run_id)
    figures(name, begun_s, row, lambda: not nodes.left())
    step.wait()
    study.release(name)
    return step


def test_a_session_whose_leader_is_killed_ends_everywhere(chain: Study, nodes: Nodes) -> None:
    step = ended_while("leader", chain, nodes, lambda: os.kill(nodes.agents()[0].pid, signal.SIGKILL))
    assert step.wait() == 128 + signal.SIGKILL
    assert "bench: task 1 on n2: the leading task is gone" in step.said
    assert chain.raw_rows("s", "leader.2x2.r0") == ROWS
    told = chain.bench("load .")
    assert "leader.2x2.r0: begun and never ended: `bench suite --resume s` keeps its rows" in told


def test_a_stop_file_ends_a_session_and_keeps_its_rows(chain: Study, nodes: Nodes) -> None:
    step = ended_while("stop", chain, nodes, (chain.folder / "s/STOP").touch)
    assert step.wait() == 128 + signal.SIGTERM
    said = chain.outcome("s", "stop.2x2.r0")
    assert (said["status"], said["error"]) == ("interrupted", "stopped by the file STOP")
    assert chain.raw_rows("s", "stop.2x2.r0") == ROWS


def test_scancel_ends_a_session_although_its_image_goes_away(
    chain: Study, nodes: Nodes, cluster: Any
) -> None:
    step = ended_while("scancel", chain, nodes, lambda: cluster.run("scancel --name study"))
    assert step.wait() == 128 + signal.SIGTERM
    assert "Bus error" not in step.said
    assert "Transport endpoint" not in step.said
    assert "Traceback" not in step.said
    assert "bench suite --resume s --results .` finishes the session" in step.said
    assert set(re.findall(r"exit code (\d+)", step.said)) == {"143"}
    said = chain.outcome("s", "scancel.2x2.r0")
    assert (said["status"], said["error"]) == ("interrupted", "stopped by SIGTERM")
    rows = chain.raw_rows("s", "scancel.2x2.r0")
    assert rows.keys() == ROWS.keys()
    assert min(rows.values()) == said["steps_completed"] >= 5
    chain.bench("load .")
    assert chain.rows("s", "scancel.2x2.r0", attempt=0) == rows


def test_a_node_that_goes_down_ends_the_job_and_the_session_with_it(
    chain: Study, nodes: Nodes, cluster: Any
) -> None:
    def strike() -> None:
        cluster.run("scontrol update nodename=n2 state=down reason=test", root=True)

    step = ended_while("down", chain, nodes, strike)
    cluster.run("scontrol update nodename=n2 state=resume", root=True)
    assert step.wait() == 1
    assert "Node failure on n2" in step.said
    said = chain.outcome("s", "down.2x2.r0")
    assert (said["status"], said["error"]) == ("interrupted", "stopped by SIGTERM")
    assert chain.raw_rows("s", "down.2x2.r0") == ROWS


def test_resumed_it_is_as_if_nothing_had_ended_it(chain: Study) -> None:
    step = chain.finish("./chain.yaml --session s")
    assert step.wait() == 0, step.said
    steps = "SELECT run_id, rank, step, loss FROM steps JOIN runs USING (session_id, run_id, attempt) "
    whole, resumed = (
        chain.asked(f"{steps} WHERE session_id = '{name}' AND status = 'ok' ORDER BY ALL")
        for name in ("whole", "s")
    )
    assert len(whole) == sum(FULL.get(f"{case['name']}.2x2.r0", 12) * 4 for case in CASES)
    assert resumed == whole
    twice = (
        "SELECT run_id FROM runs WHERE session_id = 's' AND status = 'ok' GROUP BY ALL HAVING count(*) > 1"
    )
    assert chain.asked(twice) == []


def test_rows_of_every_interrupted_attempt_are_in_the_database(chain: Study) -> None:
    counted = chain.asked(
        "SELECT run_id, count(DISTINCT rank), min(rows) FROM runs LEFT JOIN "
        "(SELECT session_id, run_id, attempt, rank, count(*) AS rows FROM steps GROUP BY ALL) "
        "USING (session_id, run_id, attempt) WHERE status = 'interrupted' GROUP BY run_id, attempt"
    )
    assert [run for run in counted if run[1] != 4 or run[2] < 5] == []


# --- an allocation with little time left ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short(chain: Study) -> str:
    """A results folder with an earlier session that reports a thousand seconds for its last run."""
    folder = chain.folder / "short"
    shutil.copytree(chain.folder / "whole", folder / "whole")
    shutil.chown(folder, *chain.user)
    path = folder / "whole/last.2x2.r0/run.json"
    run = json.loads(path.read_text())
    run["outcome"]["elapsed_s"] = 1000
    path.write_text(json.dumps(run))
    return folder.name


def test_a_run_that_does_not_fit_into_the_allocation_is_left_to_another_job(chain: Study, short: str) -> None:
    call = f"./chain.yaml --case first --case last --session s --results {short}"
    step = chain.finish(call, f"--time=2 {ONE_TASK_PER_NODE}")
    assert step.wait() == 0, step.said
    assert chain.outcome(f"{short}/s", "first.2x2.r0")["status"] == "ok"
    said = chain.outcome(f"{short}/s", "last.2x2.r0")
    assert (said["status"], said["skipped_for"]) == ("skipped", "time")
    assert re.fullmatch(r"takes about 16 min 40 s, (1 min )?\d+ s of the allocation are left", said["error"])

    again = chain.finish(call, f"--time=30 {ONE_TASK_PER_NODE}")
    assert again.wait() == 0, again.said
    assert chain.outcome(f"{short}/s", "last.2x2.r0")["status"] == "ok"
