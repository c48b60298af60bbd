"""GPUs of AMD are counted, named and chosen as HIP does it, with amdsmi and without it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from bench.common.errors import InputError
from bench.doctor.gather_amd import gather_amd
from bench.launch.roll_call import own_answer
from bench.machine import amd_gpus, environment, gpu_vendor, gpus, hidden_gpus, slots
from bench.predict.machine import local_memory
from bench.slurm import apptainer
from tests.unit.amd.conftest import mi250x

UUIDS = ["GPU-00000000abcd0000", "GPU-00000000abcd0001"]


def test_a_torch_for_rocm_counts_the_gpus_of_amd_as_slots(amdsmi: ModuleType) -> None:
    found = slots.detect()
    assert (found.device_type, found.cuda_devices_per_node, found.slots_per_node) == ("cuda", 2, 2)
    assert amdsmi.opened == 0


def test_gpus_are_in_the_order_of_hip(amdsmi: ModuleType) -> None:
    assert amd_gpus.uuids(amd_gpus.load()) == UUIDS


def test_gpus_stay_in_the_order_of_an_amdsmi_that_does_not_tell_the_other(
    amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(amdsmi, "amdsmi_get_gpu_enumeration_info")
    assert amd_gpus.uuids(amd_gpus.load()) == UUIDS[::-1]


def test_gpus_without_a_number_in_hip_are_still_gpus(
    amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = amdsmi.AmdSmiLibraryException(amdsmi.NOT_SUPPORTED)
    monkeypatch.setattr(amdsmi, "gpus", [mi250x(1) | {"hip_id": lacking}, mi250x(0)])
    assert [gpu.uuid for gpu in gpus.visible()] == UUIDS[::-1]


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
    amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], count: int
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert len(gpus.visible()) == count


def test_hip_chooses_among_those_that_rocr_leaves(
    amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amdsmi, "gpus", [mi250x(number) for number in range(4)])
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "3,2")
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "1")
    assert amd_gpus.visible_indices(amd_gpus.uuids(amd_gpus.load())) == [2]


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
    amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as raised:
        gpus.visible()
    assert words in str(raised.value)


def _kernel_has(unique_ids: list[int]) -> None:
    cpu = amd_gpus.KERNEL_NODES / "0" / "properties"
    for number, unique_id in enumerate([None, *unique_ids]):
        file = cpu.parents[1] / str(number) / cpu.name
        file.parent.mkdir(parents=True)
        simd_count = 0 if unique_id is None else 440
        file.write_text(f"cpu_cores_count 0\nsimd_count {simd_count}\nunique_id {unique_id or 0}\n")


def test_without_amdsmi_the_kernel_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(gpus.visible()) == 0
    _kernel_has([0xABCD0000, 0xABCD0001])
    assert len(gpus.visible()) == 2
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", UUIDS[1])
    assert len(gpus.visible()) == 1


def test_an_amdsmi_without_a_driver_is_as_none(amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amdsmi, "gpus", [])
    assert len(gpus.visible()) == 0


def test_slurm_shows_gpus_in_rocrs_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "2,3")
    assert slots.slurm_gpus_seen() == 2
    assert own_answer().gpus == "2,3"


def test_facts_have_the_names_that_those_of_nvml_have(amdsmi: ModuleType) -> None:
    facts = environment.gather()
    assert facts["rocm"] == "7.2.26015-fc0010cf6a"
    assert "cuda" not in facts
    assert (facts["gpu0_name"], facts["gpu1_memory_bytes"]) == ("AMD Instinct MI250X", str(65_520 * 2**20))
    assert facts["gpu0_power_limit_w"] == "560.0"


def test_a_container_gets_rocm_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert apptainer.execute("bench.sif", gpus=True, folders=())[2] == "--rocm"
    monkeypatch.setenv("APPTAINER_CONTAINER", "/images/bench.sif")
    assert hidden_gpus.gpus_left_out(0) is None
    amd_gpus.KERNEL_DRIVER.parent.mkdir()
    amd_gpus.KERNEL_DRIVER.write_text("6.16.13\n")
    told = hidden_gpus.gpus_left_out(0)
    assert told is not None
    assert told.endswith("start it with --rocm")
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "")
    assert hidden_gpus.gpus_left_out(0) is None


def test_the_torch_of_this_environment_is_for_cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import torch

    monkeypatch.undo()
    assert gpu_vendor.built_for("cuda") == torch.version.cuda
    assert gpu_vendor.is_amd() is (torch.version.hip is not None)


def test_the_doctor_gathers_gpus_of_amd(amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = amdsmi.AmdSmiLibraryException(30)
    monkeypatch.setattr(amdsmi, "gpus", [mi250x(0), mi250x(1, total_mib=lost)])
    found = gather_amd()
    assert found.has_amdsmi
    assert [(gpu.index, gpu.name, gpu.memory_bytes) for gpu in found.gpus] == [
        (0, "AMD Instinct MI250X", 65_520 * 2**20),
        (1, "AMD Instinct MI250X", None),
    ]
    assert found.gpus[1].problem == "Error code: 30 | AMDSMI_STATUS"


def test_the_doctor_counts_gpus_without_amdsmi() -> None:
    _kernel_has([1, 2])
    found = gather_amd()
    assert (found.has_amdsmi, len(found.gpus)) == (False, 2)


def test_partitions_of_a_gpu_have_no_uuid_of_their_own(
    amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amdsmi, "gpus", [mi250x(0), mi250x(1, serial="0x1"), mi250x(2, serial="0x1")])
    assert [gpu.uuid for gpu in gpus.visible()] == [UUIDS[0], None, None]


def test_cpus_near_a_gpu_are_those_of_its_place_on_the_bus(amdsmi: ModuleType) -> None:
    folder = amd_gpus.PCI_DEVICES / "0000:c1:00.0"
    folder.mkdir(parents=True)
    (folder / "local_cpulist").write_text("8-11,40\n")
    assert [(gpu.index, gpu.cpus) for gpu in gpus.visible()] == [(0, []), (1, [8, 9, 10, 11, 40])]


def test_a_prediction_knows_the_smallest_memory(amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amdsmi, "gpus", [mi250x(0), mi250x(1, total_mib=1024)])
    local_memory.cache_clear()
    assert local_memory("cuda", 2) == 2**30
    local_memory.cache_clear()
