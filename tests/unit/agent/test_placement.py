"""The offer of each task of a step, their total, and the choice of agent, cores and device for each rank."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable

import pytest

from bench.agent.placement import own_offer, place_ranks, slot_warnings, total
from bench.launch.step import Step
from bench.machine import slots
from bench.records.messages import Offer
from bench.records.run_spec import Slots
from bench.records.vocabulary import DeviceType
from tests.unit.session.test_session import run_spec


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    for name in [name for name in os.environ if name.startswith(("SLURM_", "CUDA_VISIBLE"))]:
        monkeypatch.delenv(name)

    def give(cpus: Iterable[int], gpus: int = 0, **variables: str) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(cpus))
        monkeypatch.setattr(slots, "visible_gpus", lambda: gpus)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return give


def step(task: int, tasks_per_node: tuple[int, ...]) -> Step:
    starts = [sum(tasks_per_node[:node]) for node in range(len(tasks_per_node))]
    node = max(node for node, start in enumerate(starts) if start <= task)
    return Step(
        launcher="Slurm",
        key="7.0.0",
        node_names=tuple(f"n{node + 1}" for node in range(len(tasks_per_node))),
        tasks_per_node=tasks_per_node,
        task=task,
        local_task=task - starts[node],
        node=node,
    )


def offer(task: int = 0, node: int = 0, local_task: int = 0, slots: int = 4, **changes: object) -> Offer:
    values: dict[str, object] = {
        "task": task, "node": node, "node_name": f"n{node + 1}", "local_task": local_task,
        "cpus": list(range(slots)), "devices": list(range(slots)), "slots": slots, "fixed": True,
    }  # fmt: skip
    return Offer(**(values | changes))  # type: ignore[arg-type]


def test_outside_of_a_step_the_only_agent_offers_every_cpu(given: Callable[..., None]) -> None:
    given([2, 3, 9])
    alone = own_offer(None, None)
    assert (alone.cpus, alone.slots, alone.fixed, alone.devices) == ([2, 3, 9], 3, False, [])
    assert total([alone]) == Slots(slots_per_node=3, cpus_per_node=3, device_type="cpu")


def test_one_task_per_node_offers_all_gpus_of_its_node_also_without_a_driver(
    given: Callable[..., None],
) -> None:
    step_of_two = {
        "SLURM_STEP_ID": "0",
        "SLURM_GPUS_ON_NODE": "4",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3",
        "SLURM_CPUS_ON_NODE": "8",
    }
    given(range(8), gpus=0, **step_of_two)
    offers = [own_offer(step(task, (1, 1)), None) for task in range(2)]
    assert [(one.slots, one.devices, one.fixed) for one in offers] == [(4, [], True)] * 2
    assert total(offers) == Slots(nodes=2, slots_per_node=4, cpus_per_node=8, device_type="cpu", fixed=True)


def test_tasks_that_see_all_gpus_of_their_node_split_them_and_its_cpus(given: Callable[..., None]) -> None:
    variables = {
        "SLURM_STEP_ID": "0",
        "SLURM_GPUS_ON_NODE": "4",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3",
        "SLURM_STEP_TASKS_PER_NODE": "2",
        "SLURM_CPUS_ON_NODE": "8",
    }
    given(range(8), gpus=4, **variables)
    offers = [own_offer(step(task, (2,)), None) for task in range(2)]
    assert [(one.devices, one.cpus) for one in offers] == [([0, 2], [0, 1, 2, 3]), ([1, 3], [4, 5, 6, 7])]
    assert total(offers) == Slots(
        slots_per_node=4, cpus_per_node=8, device_type="cuda", cuda_devices_per_node=4, fixed=True
    )


def test_tasks_that_are_bound_to_a_gpu_and_cores_each_offer_just_those(given: Callable[..., None]) -> None:
    variables = {
        "SLURM_STEP_ID": "0",
        "SLURM_GPUS_ON_NODE": "4",
        "CUDA_VISIBLE_DEVICES": "0",
        "SLURM_STEP_TASKS_PER_NODE": "4",
        "SLURM_CPUS_ON_NODE": "8",
    }
    given([6, 7], gpus=1, **variables)
    bound = own_offer(step(3, (4,)), None)
    assert (bound.devices, bound.cpus, bound.slots, bound.local_task) == ([0], [6, 7], 1, 3)


def test_a_task_beyond_the_gpus_of_its_node_offers_nothing(given: Callable[..., None]) -> None:
    variables = {"SLURM_STEP_ID": "0", "SLURM_GPUS_ON_NODE": "2", "CUDA_VISIBLE_DEVICES": "0,1"}
    given(range(4), gpus=2, **variables, SLURM_STEP_TASKS_PER_NODE="3", SLURM_CPUS_ON_NODE="4")
    offers = [own_offer(step(task, (3,)), None) for task in range(3)]
    assert [one.slots for one in offers] == [1, 1, 0]


def test_ranks_per_node_is_split_among_the_tasks_of_a_node(given: Callable[..., None]) -> None:
    given(range(4), SLURM_STEP_ID="0", SLURM_CPUS_ON_NODE="4", SLURM_STEP_TASKS_PER_NODE="2")
    assert [own_offer(step(task, (2,)), 3).slots for task in range(2)] == [2, 1]


def test_nodes_that_got_more_than_others_are_used_as_far_as_the_least_and_that_is_said() -> None:
    offers = [offer(slots=1), offer(task=1, node=1, slots=3)]
    assert total(offers).slots_per_node == 1
    (warning,) = slot_warnings(offers)
    assert warning.startswith(
        "the nodes of this step have different numbers of slots (n1 1, n2 3): each is used as if it had 1; "
        "ask for --gpus-per-node"
    )
    assert slot_warnings([offer(), offer(task=1, node=1)]) == []


def test_ranks_that_share_cores_are_told_and_what_was_asked_for_is_not_asked_again(
    given: Callable[..., None],
) -> None:
    given(range(2))
    narrow = [offer(cpus=[0, 1]), offer(task=1, node=1, cpus=[0, 1])]
    share = "each node gives 4 slots and 2 CPUs: ranks share cores; "
    assert slot_warnings(narrow) == [f"{share}ask srun for --cpus-per-task, the cores of a node"]
    given(range(2), SLURM_CPUS_PER_TASK="2")
    assert slot_warnings(narrow) == [f"{share}ask srun for --cpus-per-task, the cores of a node"]
    given(range(2), SLURM_CPUS_PER_TASK="32")
    (told,) = slot_warnings(narrow)
    assert told.startswith(f"{share}fewer CPUs than asked for (SLURM_CPUS_PER_TASK=32): the node's cpuset")


def test_ranks_go_to_the_first_nodes_and_there_to_the_agents_in_order() -> None:
    offers = [offer(task=task, node=task // 2, local_task=task % 2, slots=2) for task in range(4)]
    two_by_four = run_spec(nodes=2, ranks_per_node=4, world_size=8)
    assert {
        task: [(place.rank, place.local_rank) for place in here]
        for task, here in place_ranks(two_by_four, offers).items()
    } == {0: [(0, 0), (1, 1)], 1: [(2, 2), (3, 3)], 2: [(4, 0), (5, 1)], 3: [(6, 2), (7, 3)]}
    assert list(place_ranks(run_spec(nodes=1, ranks_per_node=1, world_size=1), offers)) == [0]
    assert list(place_ranks(run_spec(nodes=2, ranks_per_node=1, world_size=2), offers)) == [0, 2]


def test_a_node_that_is_lost_is_passed_over_and_too_few_are_told() -> None:
    offers = [offer(), offer(task=2, node=2)]
    assert list(place_ranks(run_spec(nodes=2, ranks_per_node=1), offers)) == [0, 2]
    with pytest.raises(LookupError, match="needs 3 nodes, this step has 2 left"):
        place_ranks(run_spec(nodes=3, ranks_per_node=1), offers)


def test_a_rank_that_no_task_has_the_cores_for_is_told() -> None:
    narrow = [offer(task=task, local_task=task, cpus=[task], devices=[], fixed=False) for task in range(4)]
    with pytest.raises(LookupError, match="needs 2 CPUs for a rank, a task on n1 has fewer"):
        place_ranks(run_spec(nodes=1, ranks_per_node=2, threads=2), narrow)


def test_ranks_on_gpus_get_the_devices_of_their_agent() -> None:
    offers = [offer(devices=[0, 2], slots=2), offer(task=1, local_task=1, devices=[1, 3], slots=2)]
    found = place_ranks(run_spec(device_type="cuda", ranks_per_node=4), offers)
    assert [place.device_index for here in found.values() for place in here] == [0, 2, 1, 3]


def cores(one: Offer, ranks: int, device_type: DeviceType = "cpu", threads: int = 1) -> list[list[int]]:
    return [one.cores(rank, device_type, threads) for rank in range(ranks)]


def test_a_rank_has_the_same_cores_at_every_world_size() -> None:
    gpus = offer(cpus=list(range(16)))
    for world in (1, 2, 4):
        expected = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]][:world]
        assert cores(gpus, world, "cuda", 4) == expected


def test_a_rank_on_cpus_has_as_many_cores_as_threads() -> None:
    cpus = offer(cpus=list(range(16)), devices=[], slots=16, fixed=False)
    assert cores(cpus, 3, threads=3) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert cores(cpus, 3) == [[0], [1], [2]]


def test_cores_are_those_that_were_given() -> None:
    assert cores(offer(cpus=[5, 9, 30, 31], slots=2), 2, threads=2) == [[5, 9], [30, 31]]


def test_ranks_beyond_the_slots_share_cores() -> None:
    two = offer(cpus=[0, 1], devices=[], slots=2, fixed=False)
    assert cores(two, 4) == cores(dataclasses.replace(two, slots=4, fixed=True), 4) == [[0], [1], [0], [1]]
