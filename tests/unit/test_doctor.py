"""Every check on constructed facts, and the doctor on the current machine."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.doctor import judge, names
from bench.doctor.facts import Facts, Folder, Gpu, Nvidia, Torch
from bench.doctor.finding import Finding
from bench.doctor.gather_facts import folder
from bench.doctor.show import as_text, to_json
from bench.doctor.which_torch import ROWS
from bench.records.run_spec import Slots

ROOMY = Folder(path="results", writable=True, free_bytes=10**12, file_system="ext4")
TORCH = Torch(version="2.15.0", cuda_build="13.2", nccl="2.30.7", cuda_error="Found no NVIDIA driver")
A, B = (Gpu(index=i, name="NVIDIA H200", memory_bytes=2**37) for i in range(2))
CPU_MACHINE = Facts(
    python="3.11.7",
    cpus_online=8,
    cpus_given=8,
    cpu_quota=None,
    memory_available_bytes=32 * 10**9,
    nvidia=Nvidia(nvml_error="NVML Shared Library Not Found"),
    slots=Slots(slots_per_node=8, cpus_per_node=8, device_type="cpu"),
    slots_error=None,
    torch=TORCH,
    torch_error=None,
    container=None,
    results=ROOMY,
    temporary=replace(ROOMY, path="/scratch"),
    shared_memory_bytes=2**34,
    open_files=1024,
    locked_memory_bytes=8 * 2**20,
    infiniband=False,
    compiler="/usr/bin/g++",
    clock_source="tsc",
    clock_read_ns=40.0,
)
GPU_MACHINE = replace(
    CPU_MACHINE,
    nvidia=Nvidia(kernel_driver="580.65.06", cuda=(13, 2), gpus=(A, B)),
    slots=Slots(slots_per_node=2, cpus_per_node=8, device_type="cuda", cuda_devices_per_node=2),
    torch=replace(TORCH, cuda_devices=2, cuda_error=None),
)
AMD_MACHINE = replace(
    GPU_MACHINE,
    nvidia=Nvidia(),
    amd_gpus=2,
    torch=replace(
        TORCH, cuda_build=None, rocm_build="7.2.26015", nccl="2.22.3", cuda_devices=2, cuda_error=None
    ),
)
HIDDEN = Nvidia(kernel_driver="580.65.06", nvml_error="NVML Shared Library Not Found")


def faults(facts: Facts) -> list[tuple[str, str]]:
    return [(finding.topic, finding.level) for finding in judge(facts) if finding.level != "ok"]


def texts(facts: Facts, topic: str) -> list[str]:
    return [finding.text for finding in judge(facts) if finding.topic == topic]


def remedy(facts: Facts, topic: str) -> str:
    found = [finding.remedy for finding in judge(facts) if finding.topic == topic and finding.remedy]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("facts", [CPU_MACHINE, GPU_MACHINE], ids=["cpu", "gpu"])
def test_a_sound_machine_has_no_fault_with_or_without_a_gpu(facts: Facts) -> None:
    assert faults(facts) == []


def test_gpus_are_counted_by_kind() -> None:
    small = replace(B, name="NVIDIA L4", memory_bytes=24 * 2**30, slices=2)
    facts = replace(GPU_MACHINE, nvidia=replace(GPU_MACHINE.nvidia, gpus=(A, small)))
    assert texts(facts, "gpu") == [
        "1 x NVIDIA H200, 128 GiB; 1 x NVIDIA L4, 24 GiB (driver 580.65.06)",
        "GPU 1 is cut into 2 MIG slices: one for each rank",
    ]


def test_gpus_that_are_near_no_given_cpu_are_named() -> None:
    far = replace(GPU_MACHINE, far_gpus=(1,))
    assert texts(far, "cpu")[1].startswith("no CPU that this process may use is near GPU 1, so data")
    assert "--gres-flags=enforce-binding" in remedy(far, "cpu")
    assert texts(GPU_MACHINE, "cpu") == ["8 of 8 CPUs are given to this process"]


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ("apptainer", "start it with --nv; if it was, this node has no working NVIDIA driver"),
        ("docker", "start it with --gpus all; if it was, this node"),
        (None, "nvidia-smi"),
    ],
)
def test_a_driver_without_visible_gpus_gets_the_remedy_of_its_container(
    container: str | None, expected: str
) -> None:
    facts = replace(CPU_MACHINE, nvidia=HIDDEN, container=container)
    assert faults(facts) == [("gpu", "warn")]
    assert expected in remedy(facts, "gpu")


def test_gpus_of_amd_are_counted_and_what_is_not_read_is_told() -> None:
    (told,) = texts(AMD_MACHINE, "gpu")
    assert told.startswith(
        "2 GPUs of AMD. Only the number is read: no driver, memory, near CPUs, utilisation, power,"
    )
    assert told.endswith("No run on such a GPU was tried yet")
    assert texts(AMD_MACHINE, "torch") == ["2.15.0, built for ROCm 7.2.26015; uses 2 GPUs"]
    assert texts(AMD_MACHINE, "communication") == ["gloo works", "RCCL 2.22.3 works"]
    assert faults(AMD_MACHINE) == [("gpu", "warn")]


def test_a_torch_for_another_vendor_leaves_amds_gpus_to_the_cpu() -> None:
    """A processor with integrated graphics has such a GPU, too."""
    facts = replace(CPU_MACHINE, amd_gpus=1)
    assert faults(facts) == []
    assert texts(facts, "gpu") == ["1 GPU of AMD: this torch is not built for ROCm, so runs use the CPU"]
    assert faults(replace(GPU_MACHINE, amd_gpus=1)) == []


def test_a_torch_for_rocm_without_a_gpu_gets_a_remedy() -> None:
    torch = replace(AMD_MACHINE.torch, cuda_devices=0, cuda_error="No HIP GPUs are available")  # type: ignore[type-var]
    facts = replace(CPU_MACHINE, torch=torch)
    assert faults(facts) == [("gpu", "warn")]
    assert texts(facts, "gpu") == [
        "torch is built for ROCm, but no GPU of AMD is visible: runs need --device cpu"
    ]
    assert "/dev/kfd" in remedy(facts, "gpu")


def test_hidden_and_unusable_gpus_of_amd_are_told_in_its_words() -> None:
    hidden = replace(AMD_MACHINE, slots=CPU_MACHINE.slots, environment={"ROCR_VISIBLE_DEVICES": "-1"})
    assert texts(hidden, "slots")[1] == "ROCR_VISIBLE_DEVICES=-1 hides all 2 GPUs: runs use the CPU"
    torch = replace(AMD_MACHINE.torch, cuda_devices=0, cuda_error="No HIP GPUs are available")  # type: ignore[type-var]
    unusable = replace(AMD_MACHINE, torch=torch)
    assert texts(unusable, "torch") == [
        "2 GPUs are installed, but torch cannot use them: No HIP GPUs are available"
    ]
    assert "/dev/kfd" in remedy(unusable, "torch")


def test_gpus_that_slurm_gave_and_nobody_sees_are_a_failure() -> None:
    given = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_GPUS_ON_NODE": "4"}
    facts = replace(CPU_MACHINE, nvidia=HIDDEN, container="apptainer", environment=given)
    assert faults(facts) == [("gpu", "fail")]
    assert faults(replace(facts, nvidia=Nvidia())) == [("gpu", "fail")]


def test_slots_are_told_as_planning_counts_them() -> None:
    assert texts(CPU_MACHINE, "slots") == ["8 ranks fit on this node, each with no GPU and 1 of its CPUs"]
    assert texts(GPU_MACHINE, "slots") == ["2 ranks fit on this node, each with a GPU and 4 of its CPUs"]


def test_a_wrong_cuda_visible_devices_is_a_failure_in_the_words_of_the_plan() -> None:
    wrong = "CUDA_VISIBLE_DEVICES=7: '7' is not a GPU of this machine"
    facts = replace(GPU_MACHINE, slots=None, slots_error=wrong)
    assert faults(facts) == [("slots", "fail")]
    assert texts(facts, "slots") == [wrong]


@pytest.mark.parametrize("value", ["", "-1"])
def test_gpus_that_are_hidden_on_purpose_are_a_warning_and_torch_is_not_blamed(value: str) -> None:
    facts = replace(
        GPU_MACHINE,
        slots=CPU_MACHINE.slots,
        torch=TORCH,
        environment={"CUDA_VISIBLE_DEVICES": value},
    )
    assert faults(facts) == [("slots", "warn")]
    assert texts(facts, "slots")[1] == f"CUDA_VISIBLE_DEVICES={value} hides all 2 GPUs: runs use the CPU"


def test_cuda_visible_devices_matters_not_where_there_is_no_gpu() -> None:
    assert faults(replace(CPU_MACHINE, environment={"CUDA_VISIBLE_DEVICES": "3"})) == []


def test_a_torch_that_cannot_use_the_gpus_says_which_part_is_too_old() -> None:
    unusable = replace(TORCH, cuda_error="The NVIDIA driver on your system is too old")
    old_driver = replace(
        GPU_MACHINE, torch=unusable, nvidia=replace(GPU_MACHINE.nvidia, cuda=(12, 4)), environment={}
    )
    assert texts(old_driver, "torch") == [
        "2 GPUs are installed, but the driver runs CUDA up to 12.4 and torch needs 13.2"
    ]
    without_cuda = replace(GPU_MACHINE, torch=Torch(version="2.15.0+cpu", cuda_error="not compiled"))
    assert texts(without_cuda, "torch") == [
        "2 GPUs are installed, but torch 2.15.0+cpu is built without CUDA"
    ]
    otherwise = replace(GPU_MACHINE, torch=replace(TORCH, cuda_error="out of memory"))
    assert texts(otherwise, "torch") == ["2 GPUs are installed, but torch cannot use them: out of memory"]
    assert [faults(f) for f in (old_driver, without_cuda, otherwise)] == [[("torch", "fail")]] * 3


@pytest.mark.parametrize(
    ("driver", "cuda", "capability", "advised"),
    [
        ("570.86.15", (12, 8), (9, 0), "TORCH=2.10.0"),
        ("535.104.05", (12, 2), (7, 0), "TORCH=2.10.0"),
        ("535.104.05", (12, 2), None, "TORCH=2.10.0"),
        ("535.104.05", (12, 2), (6, 0), "TORCH=2.7.1"),
        ("470.82.01", (11, 4), (8, 0), "update the driver: 525 or newer"),
        ("535.104.05", (12, 2), (3, 7), "use other GPUs"),
    ],
)
def test_an_old_driver_gets_the_row_of_the_table(
    driver: str, cuda: tuple[int, int], capability: tuple[int, int] | None, advised: str
) -> None:
    nvidia = Nvidia(kernel_driver=driver, cuda=cuda, gpus=(replace(A, capability=capability),))
    unusable = replace(TORCH, cuda_error="The NVIDIA driver on your system is too old")
    assert advised in _remedy(replace(GPU_MACHINE, torch=unusable, nvidia=nvidia))


@pytest.mark.parametrize(("capability", "advised"), [((7, 0), "TORCH=2.10.0"), ((6, 1), "TORCH=2.7.1")])
def test_an_old_gpu_gets_the_row_of_the_table(capability: tuple[int, int], advised: str) -> None:
    nvidia = replace(GPU_MACHINE.nvidia, gpus=(A, replace(B, capability=capability)))
    error = (
        "GPU 1, has compute capability, for which torch 2.15.0 has no code (it has sm_75): use another GPU"
    )
    assert advised in _remedy(replace(GPU_MACHINE, torch=replace(TORCH, cuda_error=error), nvidia=nvidia))


def test_the_manual_has_every_row_of_the_table() -> None:
    manual = (Path(__file__).parents[2] / "docs/cluster.md").read_text()
    for row in ROWS:
        version = row.torch or _locked("torch")
        (line,) = [line for line in manual.splitlines() if line.endswith(f"| {version}, CUDA {row.cuda} |")]
        assert line.startswith(f"| {row.driver} or newer | {row.capability[0]}.{row.capability[1]} (")
        assert (f"TORCH={row.torch}" in line) == (row.torch is not None)


def _locked(package: str) -> str:
    packages = tomllib.loads((Path(__file__).parents[2] / "uv.lock").read_text())["package"]
    return next(str(each["version"]) for each in packages if each["name"] == package)


def _remedy(facts: Facts) -> str:
    (found,) = [finding for finding in judge(facts) if finding.topic == "torch"]
    return str(found.remedy)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("Error 802: system not yet initialized", "fabric manager"),
        ("The NVIDIA driver on your system is too old (found version 13020).", "libcuda.so.1"),
        ("CUDA error: CUDA-capable device(s) is/are busy or unavailable", "exclusive"),
        ("out of memory", "nvidia-smi"),
    ],
)
def test_a_torch_that_cannot_use_the_gpus_names_what_helps(error: str, remedy: str) -> None:
    facts = replace(GPU_MACHINE, torch=replace(TORCH, cuda_error=error))
    assert remedy in _remedy(facts)


CHANGES: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "torch does not import": ({"torch": None, "torch_error": "No module named 'torch'"}, ("torch", "fail")),
    "torchvision of another torch": (
        {"torch": replace(TORCH, torchvision_error="operator nms does not exist")},
        ("torch", "fail"),
    ),
    "gloo without a host name": (
        {"torch": replace(TORCH, gloo_error="Name or service not known")},
        ("communication", "fail"),
    ),
    "NCCL broken": (
        {"torch": replace(TORCH, nccl_error="unhandled system error")},
        ("communication", "fail"),
    ),
    "quota": ({"cpu_quota": 2.0}, ("cpu", "warn")),
    "little memory": ({"memory_available_bytes": 10**9}, ("memory", "warn")),
    "read-only results": ({"results": replace(ROOMY, writable=False)}, ("disk", "fail")),
    "full results": ({"results": replace(ROOMY, free_bytes=10**7)}, ("disk", "fail")),
    "small temporary folder": ({"temporary": replace(ROOMY, free_bytes=10**9)}, ("disk", "warn")),
    "temporary folder on a network": ({"temporary": replace(ROOMY, file_system="nfs4")}, ("disk", "warn")),
    "TMPDIR that cannot be written": ({"environment": {"TMPDIR": "/missing"}}, ("disk", "warn")),
    "no shared memory": ({"shared_memory_bytes": None}, ("shared_memory", "warn")),
    "small shared memory": ({"shared_memory_bytes": 64 * 2**20}, ("shared_memory", "warn")),
    "few open files": ({"open_files": 256}, ("limits", "warn")),
    "InfiniBand without locked memory": ({"infiniband": True}, ("limits", "warn")),
    "no compiler": ({"compiler": None}, ("compiler", "warn")),
    "PYTHONPATH with an empty entry": ({"environment": {"PYTHONPATH": "/own:"}}, ("python", "warn")),
    "slow clock": ({"clock_source": "hpet", "clock_read_ns": 1400.0}, ("clock", "warn")),
    "a job of two nodes without a step": (
        {"environment": {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"}},
        ("slurm", "warn"),
    ),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_one_fault_gives_one_finding_with_a_remedy(change: dict[str, Any], expected: tuple[str, str]) -> None:
    facts = replace(CPU_MACHINE, **change)
    assert faults(facts) == [expected]
    assert remedy(facts, expected[0])


def test_no_limit_is_never_too_low() -> None:
    assert faults(replace(CPU_MACHINE, infiniband=True, open_files=-1, locked_memory_bytes=-1)) == []


def test_a_slurm_step_is_told_with_what_it_was_given() -> None:
    given = {
        "SLURM_JOB_ID": "7",
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NUM_NODES": "2",
        "SLURM_CPUS_ON_NODE": "16",
    }
    given |= {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_GPUS_ON_NODE": "2"}
    facts = replace(GPU_MACHINE, environment=given)
    assert texts(facts, "slurm") == ["task 1 of 2 in step 7.0: 2 nodes, here 16 CPUs and 2 GPUs"]
    del given["SLURM_GPUS_ON_NODE"]
    assert faults(facts) == [("slurm", "warn")]


def test_one_is_told_in_the_singular() -> None:
    given = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_CPUS_ON_NODE": "1", "SLURM_GPUS_ON_NODE": "1"}
    one = Slots(slots_per_node=1, cpus_per_node=1, device_type="cuda", cuda_devices_per_node=1)
    nvidia = replace(GPU_MACHINE.nvidia, gpus=(A,))
    facts = replace(GPU_MACHINE, cpus_online=1, cpus_given=1, slots=one, nvidia=nvidia, environment=given)
    assert texts(facts, "slurm") == ["task 0 of 1 in step 7.0: 1 node, here 1 CPU and 1 GPU"]
    assert texts(facts, "slots") == ["1 rank fits on this node, each with a GPU and 1 of its CPUs"]
    assert texts(facts, "cpu") == ["1 of 1 CPU is given to this process"]


def test_a_gpu_per_cpu_is_the_least() -> None:
    few = replace(GPU_MACHINE, cpus_given=1)
    assert ("cpu", "warn") in faults(few)
    assert texts(few, "cpu")[1] == "1 CPU for 2 GPUs: ranks will wait for each other's Python"
    assert remedy(few, "cpu") == "ask for at least 2 CPUs (Slurm: --cpus-per-task)"


def test_cpus_that_were_asked_for_already_are_not_to_be_asked_for_again() -> None:
    few = replace(GPU_MACHINE, cpus_given=1, environment={"SLURM_CPUS_PER_TASK": "8"})
    assert remedy(few, "cpu").startswith(
        "fewer CPUs than asked for (SLURM_CPUS_PER_TASK=8): the node's cpuset is smaller, ask the cluster's staff"
    )


def test_remedies_stand_under_their_findings_and_the_end_counts_them() -> None:
    findings = [
        Finding(topic="disk", level="fail", text="full", remedy="free space"),
        Finding(topic="gpu", level="ok", text="none"),
    ]
    lines = as_text(findings).splitlines()
    assert [line.strip() for line in lines if "->" in line] == ["-> free space"]
    assert lines[-1] == "This machine cannot run suites yet: fix the failure."
    assert as_text(findings[1:]).splitlines()[-1] == "This machine can run suites."
    assert json.loads(to_json(findings))["findings"][1] == {
        "topic": "gpu",
        "level": "ok",
        "text": "none",
        "remedy": None,
    }


def test_a_folder_that_does_not_exist_is_judged_by_its_parent(tmp_path: Path) -> None:
    found = folder(tmp_path / "not" / "yet")
    assert (found.writable, found.file_system) == (True, folder(tmp_path).file_system)
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_the_results_folder_should_be_is_not_writable(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    assert folder(tmp_path / "results").writable is False


def test_every_check_speaks_of_a_machine_in_a_gpu_job() -> None:
    facts = replace(GPU_MACHINE, environment={"CUDA_VISIBLE_DEVICES": "0", "SLURM_JOB_ID": "7"})
    assert {finding.topic for finding in judge(facts)} == set(names())


@pytest.fixture
def broken_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A torch that cannot be imported (so the command answers at once), and the error that it gives."""
    error = "libcudart.so.13: cannot open shared object file"
    (tmp_path / "torch.py").write_text(f"raise ImportError({error!r})\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return error


def bench_doctor(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", "doctor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_makes_runs_impossible_exits_with_2_and_nothing_is_written(
    broken_torch: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    result = bench_doctor("--results", str(tmp_path / "file" / "results"), "--json")
    assert result.returncode == 2
    failures = [f for f in json.loads(result.stdout)["findings"] if f["level"] == "fail"]
    assert [failure["topic"] for failure in failures] == ["torch", "disk"]
    assert failures[0]["text"] == f"torch cannot be used: ImportError: {broken_torch}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "torch.py"]


def test_the_command_tells_people_the_same_in_lines(broken_torch: str, tmp_path: Path) -> None:
    result = bench_doctor("--results", str(tmp_path))
    assert result.returncode == 2
    failures = [line.split(maxsplit=2) for line in result.stdout.splitlines() if line.startswith("fail")]
    assert failures == [["fail", "torch", f"torch cannot be used: ImportError: {broken_torch}"]]
    assert result.stdout.splitlines()[-1] == "This machine cannot run suites yet: fix the failure."
