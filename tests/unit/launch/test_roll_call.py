"""The tasks of a launch learn from each other where they are."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.launch import roll_call as module
from bench.launch.launchers import Task
from bench.launch.roll_call import Answer, forget, layout, own_answer, roll_call, roll_call_folder
from bench.launch.step import Share, Step

PATIENCE_S = 60.0
SHORT_S = 0.5


def task(index: int, tasks: int = 3) -> Task:
    return Task(launcher="MPICH", key="k", task=index, tasks=tasks)


def answer(name: str, cpus: list[int], *, boot: str = "b", gpus: str | None = None) -> Answer:
    return Answer(nonce="0", name=name, boot=boot, address=f"{name}.net", cpus=cpus, gpus=gpus)


def steps_of(answers: list[Answer]) -> list[Step]:
    return [layout(task(index, len(answers)), answers) for index in range(len(answers))]


def test_every_task_gets_the_same_layout_and_its_own_place(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        steps = list(pool.map(lambda index: roll_call(task(index), tmp_path / "r", PATIENCE_S), (2, 1, 0)))
    assert [(step.task, step.local_task, step.node) for step in steps] == [(2, 2, 0), (1, 1, 0), (0, 0, 0)]
    assert {(step.key, step.tasks, step.tasks_per_node) for step in steps} == {("k", 3, (3,))}
    assert {step.node_names for step in steps} == {(own_answer().name,)}
    assert [step.cpu_share for step in steps] == [Share(index=index, of=3) for index in (2, 1, 0)]


def test_files_of_an_earlier_launch_that_was_killed_are_not_believed(tmp_path: Path) -> None:
    roll_call_folder(tmp_path, "k").mkdir(mode=0o700)
    elsewhere = [answer(f"old{index}", [0]) for index in range(3)]
    for index in (1, 2):
        (roll_call_folder(tmp_path, "k") / str(index)).write_text(json.dumps(vars(elsewhere[index])))
    (roll_call_folder(tmp_path, "k") / "layout.json").write_text(json.dumps([vars(one) for one in elsewhere]))
    with ThreadPoolExecutor(3) as pool:
        steps = list(pool.map(lambda index: roll_call(task(index), tmp_path, PATIENCE_S), (2, 1, 0)))
    assert {step.node_names for step in steps} == {(own_answer().name,)}
    forget(tmp_path, "k")
    assert list(tmp_path.iterdir()) == []


def test_nodes_are_in_the_order_of_their_first_tasks() -> None:
    steps = steps_of([answer("n2", [0, 1]), answer("n1", [0, 1]), answer("n2", [0, 1]), answer("n1", [0, 1])])
    assert steps[0].node_names == ("n2", "n1")
    assert (steps[0].address(0), steps[0].address(1)) == ("n2.net", "n1.net")
    assert [(step.node, step.local_task) for step in steps] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert [steps[0].name_of_node(index) for index in range(4)] == ["n2", "n1", "n2", "n1"]


def test_nodes_of_the_same_name_are_distinguished_by_their_start() -> None:
    steps = steps_of([answer("localhost", [0]), answer("localhost", [0], boot="c")])
    assert steps[1].node_names == ("localhost", "localhost")
    assert [step.node for step in steps] == [0, 1]


def test_tasks_split_the_cpus_and_gpus_that_they_share() -> None:
    bound = steps_of([answer("n", [0, 1], gpus="0"), answer("n", [2, 3], gpus="1")])
    assert {(step.cpu_share, step.gpu_share) for step in bound} == {(Share(index=0, of=1),) * 2}
    free = steps_of([answer("n", [0, 1]), answer("n", [0, 1]), answer("m", [0, 1])])
    assert [step.cpu_share for step in free] == [
        Share(index=0, of=2),
        Share(index=1, of=2),
        Share(index=0, of=1),
    ]
    assert [step.gpu_share for step in free] == [step.cpu_share for step in free]


def test_tasks_that_do_not_come_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as told:
        roll_call(task(0, 12), tmp_path, SHORT_S)
    assert str(told.value).startswith(
        "11 of the 12 tasks of MPICH did not join within 0.5 s: task 1, task 2, "
    )
    assert "task 8 ...; their own messages say why" in str(told.value)


def test_a_leader_that_does_not_come_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"task 1 on .* waited 0.5 s for the leading task of MPICH and got no answer"
    ):
        roll_call(task(1), tmp_path, SHORT_S)


def test_a_folder_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    roll_call_folder(tmp_path, "k").mkdir()
    roll_call_folder(tmp_path, "k").chmod(0o777)
    with pytest.raises(InputError, match="is not this user's alone: remove it and start the tasks again"):
        roll_call(task(0), tmp_path, SHORT_S)


def test_results_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"results cannot be written: .*; --results names another folder"):
        roll_call(task(1), tmp_path / "file", SHORT_S)


def test_a_node_is_reached_at_an_address_that_is_not_its_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not own_answer().address.startswith("127.")
    monkeypatch.setattr(module.socket, "gethostbyname", lambda _name: "192.0.2.7")  # type: ignore[attr-defined]
    assert own_answer().address == "192.0.2.7"
