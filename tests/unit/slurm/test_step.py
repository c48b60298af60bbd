"""The step around a task, from the variables that Slurm sets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.common.errors import InputError
from bench.launch.step import Step
from bench.slurm.step import step_here

CAPTURED = Path(__file__).parent / "captured"
"""Environments of real tasks."""
TWO_BY_TWO = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_ID": "3",
    "SLURM_STEP_NODELIST": "n[1-2]",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
}


def captured(name: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in (CAPTURED / f"{name}.txt").read_text().splitlines())


def test_a_task_of_two_nodes_knows_both_and_itself() -> None:
    assert step_here(captured("two_nodes")) == Step(
        launcher="Slurm",
        key="1.0.0",
        node_names=("n1", "n2"),
        tasks_per_node=(1, 1),
        task=0,
        local_task=0,
        node=0,
    )


def test_a_task_of_several_on_its_node_knows_its_place() -> None:
    step = step_here(TWO_BY_TWO)
    assert step is not None
    assert (step.tasks, step.task, step.local_task, step.node) == (4, 3, 1, 1)
    assert step.tasks_per_node == (2, 2)


def test_eight_bound_tasks_share_a_node() -> None:
    step = step_here(captured("task_per_gpu"))
    assert step is not None
    assert step.tasks == sum(step.tasks_per_node)
    assert step.tasks > 1


def test_a_batch_shell_is_the_only_task_of_its_node() -> None:
    step = step_here(captured("batch_shell"))
    assert step is not None
    assert (step.tasks, step.node_names) == (1, ("n1",))


def test_the_login_shell_of_an_allocation_is_in_no_step() -> None:
    assert step_here(captured("login_shell_of_salloc")) is None


def test_a_plain_shell_is_in_no_step() -> None:
    assert step_here({}) is None


def test_steps_are_told_apart_by_job_step_and_restart() -> None:
    step = step_here(TWO_BY_TWO)
    assert step is not None
    assert step.key == "7.3.0"
    changes = [{"SLURM_JOB_ID": "8"}, {"SLURM_STEP_ID": "4"}, {"SLURM_RESTART_COUNT": "1"}]
    others = [step_here(TWO_BY_TWO | change) for change in changes]
    assert len({other.key for other in others if other is not None} | {step.key}) == 4
    again = step_here(TWO_BY_TWO | {"SLURM_RESTART_COUNT": "2"})
    assert again is not None
    assert again.key == "7.3.2"


@pytest.mark.parametrize(
    ("text", "tasks"),
    [("1", (1,)), ("1(x3)", (1, 1, 1)), ("4(x2),1", (4, 4, 1)), ("1,2,3", (1, 2, 3))],
)
def test_tasks_per_node_are_written_out(text: str, tasks: tuple[int, ...]) -> None:
    nodes = f"n[1-{len(tasks)}]"
    step = step_here(
        TWO_BY_TWO
        | {"SLURM_STEP_NODELIST": nodes, "SLURM_STEP_TASKS_PER_NODE": text}
        | dict.fromkeys(("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"), "0")
    )
    assert step is not None
    assert step.tasks_per_node == tasks


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SLURM_STEP_TASKS_PER_NODE", "two", "SLURM_STEP_TASKS_PER_NODE=two: Slurm writes it as 4(x2),1"),
        ("SLURM_STEP_TASKS_PER_NODE", "2(x999999999)", "Slurm writes it as 4(x2),1"),
        ("SLURM_STEP_TASKS_PER_NODE", "9" * 5000, "Slurm writes it as 4(x2),1"),
        ("SLURM_STEP_TASKS_PER_NODE", ",".join(["1(x99999)"] * 10_000), "Slurm writes it as 4(x2),1"),
        ("SLURM_STEP_TASKS_PER_NODE", "999999999(x2)", "Slurm writes it as 4(x2),1"),
        ("SLURM_STEP_TASKS_PER_NODE", "0(x2)", "this is task 3"),
        ("SLURM_STEP_TASKS_PER_NODE", "2", "names 2 nodes, SLURM_STEP_TASKS_PER_NODE=(2,)"),
        ("SLURM_STEP_NODELIST", "n[1-3]", "names 3 nodes"),
        ("SLURM_STEP_NODELIST", "n[0-999999999]", "is not a list of node names"),
        ("SLURM_PROCID", "4", "this is task 4 on node 1"),
        ("SLURM_NODEID", "2", "this is task 3 on node 2"),
        ("SLURM_LOCALID", "-1", "SLURM_LOCALID=-1: Slurm sets a number there"),
        ("SLURM_PROCID", "first", "SLURM_PROCID=first: Slurm sets a number there"),
        ("SLURM_RESTART_COUNT", "9" * 5000, "Slurm sets a number there"),
        ("SLURM_JOB_ID", "../../7", "SLURM_JOB_ID=../../7 and SLURM_STEP_ID=3: Slurm sets numbers there"),
        ("SLURM_STEP_ID", "a/b", "SLURM_STEP_ID=a/b: Slurm sets numbers there"),
    ],
    ids=lambda text: text[:30],
)
def test_a_variable_that_slurm_would_not_set_is_told(variable: str, value: str, message: str) -> None:
    with pytest.raises(InputError) as told:
        step_here(TWO_BY_TWO | {variable: value})
    assert message in str(told.value)


@settings(max_examples=150, deadline=None)
@given(
    st.fixed_dictionaries({}, optional={name: st.text(max_size=12) for name in TWO_BY_TWO}),
)
def test_whatever_the_variables_are_there_is_a_step_or_an_error_of_input(changes: dict[str, str]) -> None:
    try:
        step = step_here(TWO_BY_TWO | changes)
    except InputError:
        return
    assert step is not None
    assert 0 <= step.task < step.tasks
    assert 0 <= step.node < len(step.node_names) == len(step.tasks_per_node)
    assert "/" not in step.key
