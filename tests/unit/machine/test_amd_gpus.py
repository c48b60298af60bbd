"""AMD's GPUs are counted and chosen as HIP does it, from the kernel's files, if torch is built for ROCm."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.launch.roll_call import own_answer
from bench.machine import amd_gpus, environment, gpu_vendor, gpus, hidden_gpus, slots
from bench.predict.machine import local_memory

VERSION_FILE = """\
from typing import Optional

__version__ = '2.15.0+rocm7.2'
debug = False
cuda: Optional[str] = None
hip: Optional[str] = '7.2.26015-fc0010cf6a'
rocm: Optional[str] = '7.2'
"""
"""torch/version.py of a wheel for ROCm."""
UUIDS = ["GPU-00000000abcd0000", "GPU-00000000abcd0001"]


@pytest.fixture(autouse=True)
def _rocm_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    gpu_vendor.is_amd.cache_clear()
    file = tmp_path / "version.py"
    file.write_text(VERSION_FILE)
    monkeypatch.setattr(gpu_vendor, "_version_file", lambda: file)
    monkeypatch.setattr(amd_gpus, "KERNEL_NODES", tmp_path / "nodes")
    for name in list(os.environ):
        if name.startswith("SLURM_") or name.endswith("_VISIBLE_DEVICES"):
            monkeypatch.delenv(name)
    yield
    gpu_vendor.is_amd.cache_clear()


def _kernel_node(name: str, properties: str | bytes) -> None:
    file = amd_gpus.KERNEL_NODES / name / "properties"
    file.parent.mkdir(parents=True)
    file.write_bytes(properties.encode() if isinstance(properties, str) else properties)


def _kernel_has(*unique_ids: int) -> None:
    """A CPU, then GPUs with these numbers. 0 is a GPU without a number."""
    _kernel_node("0", "cpu_cores_count 64\nsimd_count 0\nunique_id 0\n")
    for number, unique_id in enumerate(unique_ids, 1):
        _kernel_node(str(number), f"cpu_cores_count 0\nsimd_count 440\nunique_id {unique_id}\n")


def test_a_torch_for_rocm_counts_the_gpus_of_amd_as_slots() -> None:
    _kernel_has(0xABCD0000, 0xABCD0001)
    found = slots.detect()
    assert (found.device_type, found.cuda_devices_per_node, found.slots_per_node) == ("cuda", 2, 2)
    assert [(gpu.index, gpu.uuid, gpu.cpus) for gpu in gpus.visible()] == [
        (0, UUIDS[0], []),
        (1, UUIDS[1], []),
    ]


def test_nodes_are_in_the_order_of_their_numbers() -> None:
    _kernel_has(*range(1, 12))
    assert amd_gpus.uuids() == [f"GPU-{number:016x}" for number in range(1, 12)]


def test_partitions_of_a_gpu_have_no_uuid_of_their_own() -> None:
    _kernel_has(0xABCD0000, 1, 1, 0)
    assert amd_gpus.uuids() == [UUIDS[0], None, None, None]


@pytest.mark.parametrize(
    "properties",
    ["", "\n", "simd_count", "simd_count -1\n", "simd_count many\n", "simd_count 9" + "9" * 5000, b"\xff\xfe\x00\n"],
)  # fmt: skip
def test_an_empty_or_odd_file_is_no_gpu_and_no_traceback(properties: str | bytes) -> None:
    _kernel_has(0xABCD0000)
    _kernel_node("2", properties)
    _kernel_node("odd", "simd_count 440\n")
    (amd_gpus.KERNEL_NODES / "3" / "properties").mkdir(parents=True)
    (amd_gpus.KERNEL_NODES / "4").write_text("")
    assert [gpu.uuid for gpu in gpus.visible()] == [UUIDS[0]]


@pytest.mark.parametrize(
    ("variables", "count"),
    [
        ({"HIP_VISIBLE_DEVICES": "1"}, 1),
        ({"CUDA_VISIBLE_DEVICES": "1"}, 1),
        ({"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "0"}, 2),
        ({"ROCR_VISIBLE_DEVICES": UUIDS[1]}, 1),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}, 1),
        ({"HIP_VISIBLE_DEVICES": "-1"}, 0),
        ({"ROCR_VISIBLE_DEVICES": ""}, 0),
    ],
)
def test_variables_choose_gpus(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], count: int
) -> None:
    _kernel_has(0xABCD0000, 0xABCD0001)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert len(gpus.visible()) == count
    assert hidden_gpus.gpus_left_out(count) is None


def test_hip_chooses_among_those_that_rocr_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "3,2")
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "1")
    assert amd_gpus.visible_indices([None] * 4) == [2]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"HIP_VISIBLE_DEVICES": "0,7"}, "HIP_VISIBLE_DEVICES=0,7: '7' is not a GPU of this machine, "),
        ({"ROCR_VISIBLE_DEVICES": "GPU-ffff"}, "ROCR_VISIBLE_DEVICES=GPU-ffff: 'GPU-ffff' is not a GPU"),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, "which has GPU 0 alone"),
        ({"HIP_VISIBLE_DEVICES": "1,1"}, "HIP_VISIBLE_DEVICES=1,1 names a GPU twice"),
    ],
)  # fmt: skip
def test_a_wrong_list_is_an_error_that_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    _kernel_has(0xABCD0000, 0xABCD0001)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as raised:
        gpus.visible()
    assert words in str(raised.value)


def test_slurm_shows_gpus_in_rocrs_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "2,3")
    assert slots.slurm_gpus_seen() == 2
    assert own_answer().gpus == "2,3"


def test_without_a_gpu_nothing_falls_back_to_the_cpu_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    told = hidden_gpus.gpus_left_out(0)
    assert told == f"torch is built for ROCm, but no GPU of AMD is visible in {amd_gpus.KERNEL_NODES}"
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "")
    assert hidden_gpus.gpus_left_out(0) is None


def test_other_facts_of_the_gpus_are_unknown() -> None:
    _kernel_has(0xABCD0000)
    facts = environment.gather()
    assert facts["rocm"] == "7.2.26015-fc0010cf6a"
    assert [name for name in facts if name in ("cuda", "driver") or name.startswith("gpu")] == []
    local_memory.cache_clear()
    assert local_memory("cuda", 2) is None
    local_memory.cache_clear()


def test_the_torch_of_this_environment_is_for_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.undo()
    assert gpu_vendor.built_for("cuda") == torch.version.cuda
    assert gpu_vendor.is_amd() is (torch.version.hip is not None)
