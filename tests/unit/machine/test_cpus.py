"""Cores of real machines, as Linux describes them, and the CPUs that ranks with a GPU get there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from bench.machine.cpus import as_text, cores, near_gpus, numbers, split
from bench.records.messages import Gpu


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which Linux describes the CPUs."""
    monkeypatch.setattr("bench.machine.cpus.SYSTEM_FILES", tmp_path)
    return tmp_path


def machine(folder: Path, nodes: Sequence[str], sockets: int = 1, siblings: Iterable[str] = ()) -> None:
    """Files of Linux for a machine with these CPUs in each NUMA node; each text of `siblings` is one core."""
    core_of = {cpu: core for core in siblings for cpu in numbers(core)}
    for node, cpus in enumerate(nodes):
        for cpu in numbers(cpus):
            topology = folder / f"cpu{cpu}" / "topology"
            topology.mkdir(parents=True)
            (topology.parent / f"node{node}").mkdir()
            (topology / "physical_package_id").write_text(f"{node * sockets // len(nodes)}\n")
            (topology / "thread_siblings_list").write_text(core_of.get(cpu, str(cpu)) + "\n")


def dgx_h100(folder: Path) -> None:
    """2 Xeon 8480C of 56 cores; CPU n and CPU n + 112 are one core."""
    pairs = [f"{cpu},{cpu + 112}" for cpu in range(112)]
    machine(folder, ["0-55,112-167", "56-111,168-223"], sockets=2, siblings=pairs)


def juwels_booster(folder: Path) -> None:
    """2 EPYC 7402 of 24 cores in NPS-4: 8 NUMA nodes of 6 cores; CPU n and CPU n + 48 are one core.

    https://apps.fz-juelich.de/jsc/hps/juwels/booster-overview.html"""
    nodes = [f"{6 * node}-{6 * node + 5},{6 * node + 48}-{6 * node + 53}" for node in range(8)]
    machine(folder, nodes, sockets=2, siblings=[f"{cpu},{cpu + 48}" for cpu in range(48)])


def four_gh200(folder: Path) -> None:
    """4 Grace of 72 cores without SMT."""
    machine(folder, [f"{72 * node}-{72 * node + 71}" for node in range(4)], sockets=4)


def laptop(folder: Path) -> None:
    """A Core i7-1260P: 4 cores of 2 threads, and 8 of 1."""
    machine(folder, ["0-15"], siblings=["0-1", "2-3", "4-5", "6-7"])


def gpus(*near: str) -> list[Gpu]:
    return [Gpu(index=index, cpus=numbers(cpus)) for index, cpus in enumerate(near)]


DGX = gpus(*["0-55,112-167"] * 4, *["56-111,168-223"] * 4)
# GPUs 0 to 3 are at NUMA nodes 3, 1, 7, 5: https://co-design.pop-coe.eu/experiments/gpu-affinity/juwels-booster.html
JUWELS = gpus("18-23,66-71", "6-11,54-59", "42-47,90-95", "30-35,78-83")
GRACE = gpus("0-71", "72-143", "144-215", "216-287")


@pytest.mark.parametrize(
    ("build", "cpus", "found", "expected"),
    [
        (dgx_h100, "0-223", DGX, [
            "0-13,112-125", "14-27,126-139", "28-41,140-153", "42-55,154-167",
            "56-69,168-181", "70-83,182-195", "84-97,196-209", "98-111,210-223",
        ]),
        (juwels_booster, "0-95", JUWELS, ["18-23,66-71", "6-11,54-59", "42-47,90-95", "30-35,78-83"]),
        (four_gh200, "0-287", GRACE, ["0-71", "72-143", "144-215", "216-287"]),
        (laptop, "0-15", gpus("0-15"), ["0-15"]),
        (dgx_h100, "0-7,112-119", DGX, [f"{core},{core + 112}" for core in range(8)]),
    ],
    ids=["DGX H100", "JUWELS Booster", "4 GH200", "laptop", "CPUs of one socket only"],
)  # fmt: skip
def test_a_gpu_gets_whole_cores_that_are_near_it(
    linux: Path, build: Callable[[Path], None], cpus: str, found: list[Gpu], expected: list[str]
) -> None:
    build(linux)
    assert list(map(as_text, near_gpus(cores(numbers(cpus)), found))) == expected


def test_gpus_without_a_near_cpu_share_those_that_are_near_no_other(linux: Path) -> None:
    dgx_h100(linux)
    all_cores = cores(range(224))
    unknown = [*DGX[:4], *gpus("", "", "", "")]
    assert list(map(as_text, near_gpus(all_cores, unknown)))[4:] == [
        "56-69,168-181", "70-83,182-195", "84-97,196-209", "98-111,210-223",
    ]  # fmt: skip
    assert near_gpus([[0, 1], [2, 3]], gpus("", "")) == [[0, 1], [2, 3]]


def test_cores_are_in_the_order_of_their_numa_nodes(linux: Path) -> None:
    dgx_h100(linux)
    assert cores([0, 1, 112, 56, 168]) == [[0, 112], [1], [56, 168]]


def test_each_cpu_is_a_core_where_linux_tells_nothing(linux: Path) -> None:
    assert not any(linux.iterdir())
    assert cores([3, 1]) == [[1], [3]]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (2, [[0, 4, 1, 5], [2, 6, 3, 7]]),
        (3, [[0, 4], [1, 5], [2, 6]]),
        (8, [[0], [4], [1], [5], [2], [6], [3], [7]]),
        (9, [[0], [4], [1], [5], [2], [6], [3], [7], [0]]),
    ],
)
def test_shares_are_whole_cores_while_there_are_enough(parts: int, expected: list[list[int]]) -> None:
    assert split([[0, 4], [1, 5], [2, 6], [3, 7]], parts) == expected


@pytest.mark.parametrize("text", ["", "7", "0-3", "0-1,4,6-7"])
def test_numbers_are_read_and_written_as_linux_does(text: str) -> None:
    assert as_text(numbers(text)) == text
