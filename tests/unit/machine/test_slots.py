# ruff: noqa: E501 - tables of cases read one to a line
"""Slots: the effects of CUDA_VISIBLE_DEVICES and Slurm, and the fixed cores of each rank."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pynvml
import pytest

from bench.common.errors import InputError
from bench.machine import gpus
from bench.machine.slots import detect
from bench.records.run_spec import Slots

UUIDS = ["GPU-aaaa1111-0000", "GPU-aaaa2222-0000", "GPU-bbbb3333-0000", "GPU-cccc4444-0000"]


@pytest.fixture(autouse=True)
def _plain_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("SLURM_", "CUDA_VISIBLE"))]:
        monkeypatch.delenv(name)
    given_cpus(monkeypatch, range(16))


def given_cpus(monkeypatch: pytest.MonkeyPatch, cpus: Iterable[int]) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(cpus))
    monkeypatch.setattr("bench.machine.cpus.SYSTEM_FILES", Path("/no/such/files"))


def given_gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """NVML's answers on a machine with `count` GPUs; the test marked `gpu` asks the real one."""

    def by_uuid(uuid: str) -> str:
        if uuid not in ("MIG-one", *UUIDS[:count]):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return uuid

    answers: dict[str, Any] = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: count,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetUUID": lambda handle: handle if isinstance(handle, str) else UUIDS[handle],
        "nvmlDeviceGetHandleByUUID": by_uuid,
        "nvmlDeviceGetMigMode": _not_supported,
        "nvmlDeviceIsMigDeviceHandle": _not_supported,
        "nvmlDeviceGetCpuAffinity": _not_supported,
    }
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, answer)


def _not_supported(*_arguments: object) -> None:
    raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)


def step(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_without_a_gpu_every_cpu_given_is_a_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    given_gpus(monkeypatch, 0)
    given_cpus(monkeypatch, [2, 3, 9])
    assert detect() == Slots(slots_per_node=3, cpus_per_node=3, device_type="cpu")


def test_gpus_are_the_slots_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    given_gpus(monkeypatch, 4)
    assert detect() == Slots(
        slots_per_node=4, cpus_per_node=16, device_type="cuda", cuda_devices_per_node=4, cpus_per_gpu=4
    )


def test_ranks_per_node_sets_the_slots_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    given_gpus(monkeypatch, 0)
    assert detect(3) == Slots(slots_per_node=3, cpus_per_node=16, device_type="cpu", fixed=True)


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("0", UUIDS[:1]),
        ("3,1", [UUIDS[3], UUIDS[1]]),
        (" 0 , 2 ", [UUIDS[0], UUIDS[2]]),
        ("GPU-bbbb", UUIDS[2:3]),
        ("GPU-aaaa1,2", [UUIDS[0], UUIDS[2]]),
        ("MIG-one", ["MIG-one"]),
    ],
)
def test_cuda_visible_devices_is_respected(
    monkeypatch: pytest.MonkeyPatch, visible: str, expected: list[str]
) -> None:
    given_gpus(monkeypatch, 4)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    found = gpus.visible()
    assert [(gpu.index, gpu.uuid) for gpu in found] == list(enumerate(expected))


@pytest.mark.parametrize(
    ("visible", "message"),
    [
        ("0,7", "CUDA_VISIBLE_DEVICES=0,7: '7' is not a GPU of this machine, which has GPUs 0 to 3: name those, or unset it to use all"),
        ("all", "CUDA_VISIBLE_DEVICES=all: 'all' is not a GPU of this machine, which has GPUs 0 to 3: name those, or unset it to use all"),
        ("0,,1", "CUDA_VISIBLE_DEVICES=0,,1: '' is not a GPU"),
        ("GPU-aaaa", "CUDA_VISIBLE_DEVICES=GPU-aaaa: 'GPU-aaaa' is not a GPU"),
        ("MIG-two", "CUDA_VISIBLE_DEVICES=MIG-two: 'MIG-two' is not a GPU"),
        ("0,0", "CUDA_VISIBLE_DEVICES=0,0 names a GPU twice: CUDA would show none; name each once"),
        ("GPU-bbbb,2", "CUDA_VISIBLE_DEVICES=GPU-bbbb,2 names a GPU twice: CUDA would show none; name each once"),
    ],
)  # fmt: skip
def test_a_wrong_cuda_visible_devices_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, visible: str, message: str
) -> None:
    given_gpus(monkeypatch, 4)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(InputError) as raised:
        detect()
    assert str(raised.value).startswith(message)


def test_in_a_slurm_step_slurms_gpus_are_the_slots_and_its_cpus_the_cpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given_gpus(monkeypatch, 0)
    step(monkeypatch, SLURM_GPUS_ON_NODE="4", SLURM_STEP_NUM_NODES="2", SLURM_CPUS_ON_NODE="8")
    assert detect() == Slots(nodes=2, slots_per_node=4, cpus_per_node=8, device_type="cpu", fixed=True)


def test_in_a_slurm_step_the_visible_devices_are_counted_where_slurm_says_no_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given_gpus(monkeypatch, 0)
    step(monkeypatch, CUDA_VISIBLE_DEVICES="0,1,2")
    assert detect().slots_per_node == 3


def test_tasks_that_see_one_gpu_each_make_a_node_of_as_many_slots_as_slurm_gave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given_gpus(monkeypatch, 4)
    step(monkeypatch, CUDA_VISIBLE_DEVICES="2", SLURM_GPUS_ON_NODE="4", SLURM_STEP_TASKS_PER_NODE="4(x2)")
    assert (detect().slots_per_node, detect().cuda_devices_per_node) == (4, 4)


def test_a_step_without_gpus_has_its_cpus_for_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    given_gpus(monkeypatch, 4)
    step(monkeypatch, CUDA_VISIBLE_DEVICES="", SLURM_CPUS_ON_NODE="6")
    assert detect() == Slots(slots_per_node=6, cpus_per_node=6, device_type="cpu")


def test_what_slurm_never_writes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    given_gpus(monkeypatch, 0)
    step(monkeypatch, SLURM_GPUS_ON_NODE="four")
    with pytest.raises(InputError, match="SLURM_GPUS_ON_NODE=four: Slurm sets a number there"):
        detect()


@pytest.mark.gpu
def test_nvml_counts_as_cuda_does() -> None:
    import torch

    assert len(gpus.visible()) == torch.cuda.device_count() > 0
