"""The offer of each task of a step, their total, and the choice of agent, cores and device for each rank."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from bench.agent.placement import own_offer, place_ranks, shares_gpus, slot_warnings, total
from bench.launch.step import Step
from bench.machine import gpus
from bench.records.messages import Gpu, Offer
from bench.records.run_spec import Slots
from bench.records.vocabulary import DeviceType
from tests.unit.session.test_session import run_spec


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    for name in [name for name in os.environ if name.startswith(("SLURM_", "CUDA_VISIBLE"))]:
        monkeypatch.delenv(name)

    def give(cpus: Iterable[int], count: int = 0, **variables: str) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(cpus))
        monkeypatch.setattr("bench.machine.cpus.SYSTEM_FILES", Path("/no/such/files"))
        monkeypatch.setattr(gpus, "visible", lambda: [Gpu(index=index) for index in range(count)])
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


def gpus_of(indices: Iterable[int]) -> list[Gpu]:
    return [Gpu(index=index, uuid=f"GPU-{index}") for index in indices]


def indices(one: Offer) -> list[int]:
    return [gpu.index for gpu in one.gpus]


def offer(task: int = 0, node: int = 0, local_task: int = 0, slots: int = 4, **changes: object) -> Offer:
    values: dict[str, object] = {
        "task": task, "node": node, "node_name": f"n{node + 1}", "local_task": local_task,
        "cores": [[cpu] for cpu in range(slots)], "gpus": gpus_of(range(slots)), "seen_gpus": [], "slots": slots,
        "fixed": True,
    }  # fmt: skip
    return Offer(**(values | changes))  # type: ignore[arg-type]


def test_outside_of_a_step_the_only_agent_offers_every_cpu(given: Callable[..., None]) -> None:
    given([2, 3, 9])
    alone = own_offer(None, None)
    assert (alone.cpus, alone.slots, alone.fixed, alone.gpus) == ([2, 3, 9], 3, False, [])
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
    given(range(8), count=0, **step_of_two)
    offers = [own_offer(step(task, (1, 1)), None) for task in range(2)]
    assert [(one.slots, one.gpus, one.fixed) for one in offers] == [(4, [], True)] * 2
    assert total(offers) == Slots(nodes=2, slots_per_node=4, cpus_per_node=8, device_type="cpu", fixed=True)


def test_tasks_that_see_all_gpus_of_their_node_split_them_and_its_cpus(given: Callable[..., None]) -> None:
    variables = {
        "SLURM_STEP_ID": "0",
        "SLURM_GPUS_ON_NODE": "4",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3",
        "SLURM_STEP_TASKS_PER_NODE": "2",
        "SLURM_CPUS_ON_NODE": "8",
    }
    given(range(8), count=4, **variables)
    offers = [own_offer(step(task, (2,)), None) for task in range(2)]
    assert [(indices(one), one.cpus) for one in offers] == [([0, 2], [0, 1, 4, 5]), ([1, 3], [2, 3, 6, 7])]
    assert total(offers) == Slots(
        slots_per_node=4,
        cpus_per_node=8,
        device_type="cuda",
        cuda_devices_per_node=4,
        cpus_per_gpu=2,
        fixed=True,
    )


def test_tasks_that_are_bound_to_a_gpu_and_cores_each_offer_just_those(given: Callable[..., None]) -> None:
    variables = {
        "SLURM_STEP_ID": "0",
        "SLURM_GPUS_ON_NODE": "4",
        "CUDA_VISIBLE_DEVICES": "0",
        "SLURM_STEP_TASKS_PER_NODE": "4",
        "SLURM_CPUS_ON_NODE": "8",
    }
    given([6, 7], count=1, **variables)
    bound = own_offer(step(3, (4,)), None)
    assert (indices(bound), bound.cpus, bound.slots, bound.local_task) == ([0], [6, 7], 1, 3)


def test_a_task_beyond_the_gpus_of_its_node_offers_nothing(given: Callable[..., None]) -> None:
    variables = {"SLURM_STEP_ID": "0", "SLURM_GPUS_ON_NODE": "2", "CUDA_VISIBLE_DEVICES": "0,1"}
    given(range(4), count=2, **variables, SLURM_STEP_TASKS_PER_NODE="3", SLURM_CPUS_ON_NODE="4")
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
    narrow = [offer(cores=[[0], [1]]), offer(task=1, node=1, cores=[[0], [1]])]
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
    narrow = [offer(task=task, local_task=task, cores=[[task]], gpus=[], fixed=False) for task in range(4)]
    with pytest.raises(LookupError, match="needs 2 CPUs for a rank, a task on n1 has fewer"):
        place_ranks(run_spec(nodes=1, ranks_per_node=2, threads=2), narrow)


def test_ranks_on_gpus_get_the_devices_of_their_agent() -> None:
    offers = [
        offer(gpus=gpus_of([0, 2]), slots=2),
        offer(task=1, local_task=1, gpus=gpus_of([1, 3]), slots=2),
    ]
    found = place_ranks(run_spec(device_type="cuda", ranks_per_node=4), offers)
    assert [place.gpu.index for here in found.values() for place in here if place.gpu] == [0, 2, 1, 3]


def cpus_of_ranks(
    one: Offer, ranks: int, device_type: DeviceType = "cpu", threads: int = 1
) -> list[list[int]]:
    run = run_spec(
        device_type=device_type, threads=threads, ranks_per_node=ranks, world_size=ranks,
        oversubscribed=ranks > one.slots,
    )  # fmt: skip
    return [place.cpus for place in place_ranks(run, [one])[0]]


def cores_of(cpus: Iterable[int]) -> list[list[int]]:
    return [[cpu] for cpu in cpus]


def test_a_rank_has_the_same_cores_at_every_world_size() -> None:
    with_gpus = offer(cores=cores_of(range(16)))
    for world in (1, 2, 4):
        expected = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]][:world]
        assert cpus_of_ranks(with_gpus, world, "cuda", 4) == expected


def test_a_rank_on_cpus_has_as_many_cores_as_threads() -> None:
    one = offer(cores=cores_of(range(16)), gpus=[], slots=16, fixed=False)
    assert cpus_of_ranks(one, 3, threads=3) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert cpus_of_ranks(one, 3) == [[0], [1], [2]]


def test_cores_are_those_that_were_given() -> None:
    given = offer(cores=cores_of([5, 9, 30, 31]), slots=2)
    assert cpus_of_ranks(given, 2, threads=2) == [[5, 9], [30, 31]]


def test_ranks_beyond_the_slots_share_cores() -> None:
    two = offer(cores=cores_of([0, 1]), gpus=[], slots=2, fixed=False)
    shared = dataclasses.replace(two, slots=4, fixed=True)
    assert cpus_of_ranks(two, 4) == cpus_of_ranks(shared, 4) == [[0], [1], [0], [1]]


def test_ranks_of_one_thread_have_a_core_each_before_two_share_one() -> None:
    four = offer(cores=[[0, 4], [1, 5], [2, 6], [3, 7]], gpus=[], fixed=False)
    assert cpus_of_ranks(four, 4) == [[0], [1], [2], [3]]
    assert cpus_of_ranks(four, 6)[4:] == [[4], [5]]


def test_ranks_of_two_threads_have_a_whole_core_each() -> None:
    four = offer(cores=[[0, 4], [1, 5], [2, 6], [3, 7]], gpus=[], fixed=False)
    assert cpus_of_ranks(four, 4, threads=2) == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_ranks_share_slots_only_if_the_plan_says_so() -> None:
    """A task of the node is lost: its ranks must not go to the others unmarked."""
    left = [offer(slots=2)]
    with pytest.raises(LookupError, match="needs 4 slots on a node, the tasks of n1 have 2"):
        place_ranks(run_spec(ranks_per_node=4, world_size=4), left)


SLICES = [Gpu(index=0, uuid="MIG-a", sliced_gpu="GPU-0"), Gpu(index=1, uuid="MIG-b", sliced_gpu="GPU-0")]


@pytest.mark.parametrize(
    ("offers", "shared"),
    [
        ([offer(slots=2)], False),
        ([offer(gpus=SLICES, slots=2)], True),
        ([offer(gpus=gpus_of([0]), slots=2)], True),
        ([offer(slots=1), offer(task=1, local_task=1, gpus=gpus_of([1]), slots=1)], False),
        ([offer(slots=1), offer(task=1, local_task=1, gpus=gpus_of([0]), slots=1)], True),
    ],
    ids=["a GPU each", "slices of one GPU", "one GPU", "two tasks", "two tasks that see the same GPU"],
)
def test_ranks_that_nccl_would_refuse_are_known(offers: list[Offer], shared: bool) -> None:
    run = run_spec(device_type="cuda", ranks_per_node=2, world_size=2, oversubscribed=True)
    places = place_ranks(run, offers)
    assert shares_gpus(places, offers) is shared


def test_a_gpu_that_two_tasks_see_is_one_slot() -> None:
    offers = [
        offer(gpus=gpus_of([0, 1]), slots=2, fixed=False),
        offer(task=1, local_task=1, gpus=gpus_of([1, 2]), slots=2, fixed=False),
    ]
    assert (total(offers).slots_per_node, total(offers).cuda_devices_per_node) == (3, 3)
    found = place_ranks(run_spec(device_type="cuda", ranks_per_node=3, world_size=3), offers)
    assert [place.gpu.uuid for here in found.values() for place in here if place.gpu] == [
        "GPU-0",
        "GPU-1",
        "GPU-2",
    ]


def test_ranks_of_two_nodes_with_the_same_gpu_numbers_share_none() -> None:
    alike = [Gpu(index=0)]
    offers = [offer(gpus=alike, slots=1), offer(task=1, node=1, gpus=alike, slots=1)]
    places = place_ranks(run_spec(device_type="cuda", nodes=2, ranks_per_node=1, world_size=2), offers)
    assert shares_gpus(places, offers) is False


def test_a_gpu_has_the_index_by_which_the_first_task_of_its_node_reads_it() -> None:
    seen = gpus_of(range(4))
    first = offer(gpus=seen[:1], seen_gpus=seen, slots=1)
    second = offer(task=1, local_task=1, gpus=[Gpu(index=0, uuid="GPU-2")], slots=1)
    hidden = offer(task=2, local_task=2, gpus=[Gpu(index=0, uuid="GPU-9")], slots=1)
    found = place_ranks(run_spec(device_type="cuda", ranks_per_node=3, world_size=3), [first, second, hidden])
    assert [place.sampled_as for here in found.values() for place in here] == [0, 2, None]


def test_tasks_that_see_different_gpus_are_warned_about() -> None:
    seen = gpus_of(range(2))
    apart = [
        offer(seen_gpus=seen[:1], slots=1),
        offer(task=1, local_task=1, cores=[[1]], seen_gpus=seen[1:], slots=1),
    ]
    (warning,) = slot_warnings(apart)
    assert warning.startswith(
        "the tasks of n1 see different GPUs, so NCCL may connect them slowly or not at all: "
    )
    assert slot_warnings([dataclasses.replace(one, seen_gpus=seen) for one in apart]) == []


SMT_20 = [[core, core + 20] for core in range(20)]
DGX = [[core, core + 112] for core in range(112)]
LAPTOP = [[0, 1], [2, 3], [4, 5], [6, 7], *[[cpu] for cpu in range(8, 16)]]


@pytest.mark.parametrize(
    ("machine", "slots", "threads", "expected"),
    [
        (DGX, 8, 1, [[0], [14], [28], [42], [56], [70], [84], [98]]),
        (SMT_20, 4, 5, [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]),
        (SMT_20, 4, 10, [[0, 1, 2, 3, 4, 20, 21, 22, 23, 24]]),
        (SMT_20, 8, 5, [[0, 20, 1, 21, 2], [22, 3, 23, 4, 24]]),
        (LAPTOP, 12, 1, [[0], [2], [4], [6], [8], [9]]),
        (LAPTOP, 8, 2, [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15]]),
        (LAPTOP, 4, 4, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]),
    ],
)
def test_ranks_on_cpus_have_cores_of_their_own_where_there_are_enough(
    machine: list[list[int]], slots: int, threads: int, expected: list[list[int]]
) -> None:
    found = cpus_of_ranks(offer(cores=machine, gpus=[], slots=slots), slots, threads=threads)
    assert found[: len(expected)] == expected
    assert all(len(given) == threads for given in found)
    assert len({cpu for given in found for cpu in given}) == slots * threads


def test_a_task_without_a_gpu_hosts_no_rank_on_gpus() -> None:
    offers = [offer(slots=1), offer(task=1, local_task=1, gpus=[], slots=1)]
    found = place_ranks(run_spec(device_type="cuda", ranks_per_node=1, world_size=1), offers)
    assert list(found) == [0]


@pytest.mark.parametrize(
    ("near", "expected"),
    [
        ([[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ([[0, 1, 2, 3], [0, 1, 2, 3]], [[0, 1, 4, 6], [2, 3, 5, 7]]),
        ([[0, 1]], [[0, 1, 2, 3], [4, 5, 6, 7]]),
    ],
    ids=["a socket each", "CPUs that are near no GPU", "fewer GPUs than tasks"],
)
def test_tasks_of_a_node_split_all_of_its_cpus(
    given: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    near: list[list[int]],
    expected: list[list[int]],
) -> None:
    given(range(8), SLURM_STEP_ID="0", SLURM_CPUS_ON_NODE="8", SLURM_STEP_TASKS_PER_NODE="2")
    seen = [Gpu(index=index, uuid=f"GPU-{index}", cpus=cpus) for index, cpus in enumerate(near)]
    monkeypatch.setattr(gpus, "visible", lambda: seen)
    assert [sorted(own_offer(step(task, (2,)), None).cpus) for task in range(2)] == expected
