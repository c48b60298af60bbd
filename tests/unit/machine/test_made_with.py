"""The fingerprint of a run depends only on its nodes and its code."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from bench.machine.fingerprint import fingerprint
from bench.records.run_spec import RunSpec
from tests.factory import Case, specs

CPU = specs(Case(name="ddp", step_ms={2: 10.0}), "s", "smoke", [])[0]
CUDA = dataclasses.replace(CPU, device_type="cuda")
NODE = {
    "hostname": "n1",
    "driver": "575.57.08",
    "cuda": "13.2",
    "gpu0_name": "NVIDIA H200",
    "gpu0_power_limit_w": "700.0",
}


def of(nodes: list[dict[str, str]], spec: RunSpec = CPU, **said: object) -> dict[str, str]:
    return fingerprint(spec, nodes, said)


def custom_files(workload: str = "spiral_mlp", strategy: str = "ddp") -> dict[str, str]:
    """The keys of the user's files."""
    found = of([{}], dataclasses.replace(CPU, workload=workload, strategy=strategy))
    return {key: value for key, value in found.items() if key.startswith("content of ")}


def settings(spec: RunSpec = CPU, **changes: Any) -> str:
    """The key `settings`; changes of a part are a dict."""
    for name, value in changes.items():
        part = getattr(spec, name)
        whole = dataclasses.replace(part, **value) if dataclasses.is_dataclass(part) else value
        spec = dataclasses.replace(spec, **{name: whole})
    return of([{}], spec)["settings"]


@pytest.mark.parametrize(
    "change",
    [
        {"batch_per_rank": 4_096},
        {"train": {"precision": "bf16"}},
        {"train": {"learning_rate": 0.5}},
        {"data": {"workers": 2}},
        {"measure": {"steps": 999}},
        {"measure": {"warmup": 99}},
        {"measure": {"validate_every": 7}},
        {"strategy_options": {"a": 1}},
    ],
)
def test_settings_change_with_what_a_run_does(change: dict[str, Any]) -> None:
    assert settings(**change) != settings()


@pytest.mark.parametrize(
    "change",
    [
        {"measure": {"repeats": 9}},
        {"measure": {"until": 0.01, "until_efficiency": 0.01, "max_repeats": 30}},
        {"measure": {"timeout_s": 9.0}},
        {"repeat": 2},
        {"tags": ["paper"]},
        {"session_id": "other"},
        {"suite": "other"},
        {"case_name": "other", "baseline": "ddp"},
        {"data_root": "/elsewhere"},
    ],
)
def test_settings_do_not_change_with_what_is_beside_the_run(change: dict[str, Any]) -> None:
    assert settings(**change) == settings()


@pytest.mark.parametrize("part", ["workload", "strategy"])
def test_settings_do_not_change_with_the_folder_of_a_users_own_part(part: str) -> None:
    def at(folder: str, options: int = 1) -> str:
        return settings(**{part: f"{folder}/mine.py:Mine", f"{part}_options": {"width": options}})

    assert at("/here") == at("/there/else")
    assert at("/here") != at("/here", options=2)


def test_a_users_own_file_is_known_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "my_model.py"
    file.write_text("width = 8")
    first = custom_files(f"{file}:TinyLm")
    assert list(first) == ["content of my_model.py"]
    assert custom_files(f"{file}:Other") == custom_files(strategy=f"{file}:Mine") == first
    assert custom_files(f"{file}:TinyLm", f"{file}:Mine") == first
    file.write_text("width = 16")
    assert custom_files(f"{file}:TinyLm") != first
    assert custom_files() == custom_files(f"{tmp_path}/gone.py:TinyLm") == {}


def test_two_own_files_of_one_name_are_both_known(tmp_path: Path) -> None:
    for folder in ("nets", "strategies"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(folder)
    names = [f"{tmp_path}/{folder}/mine.py:Mine" for folder in ("nets", "strategies")]
    digests = [custom_files(name)["content of mine.py"] for name in names]
    assert custom_files(*names) == {"content of mine.py": ", ".join(sorted(digests))}


def test_a_run_on_gpus_says_their_models_limits_driver_cuda_nccl_and_transport() -> None:
    found = of(
        [NODE], spec=CUDA, device_names=["NVIDIA H200"], nccl="2.27.3", transport="NCCL 2.27.3 via P2P/CUMEM"
    )
    del found["settings"]
    assert found == {
        "device_type": "cuda", "nodes": "n1", "driver": "575.57.08", "cuda": "13.2", "gpu": "NVIDIA H200",
        "gpu_power_limit_w": "700", "nccl": "2.27.3", "transport": "NCCL 2.27.3 via P2P/CUMEM", "variables": "none set",
    }  # fmt: skip


def test_nodes_that_are_unlike_are_told_with_all_their_values() -> None:
    other = {**NODE, "hostname": "n2", "gpu0_power_limit_w": "650.5", "driver": "580.1"}
    found = of([NODE, other], spec=CUDA, device_names=["NVIDIA A100", "NVIDIA H200"])
    assert found["nodes"] == "n1, n2"
    assert found["driver"] == "575.57.08, 580.1"
    assert (found["gpu"], found["gpu_power_limit_w"]) == ("NVIDIA A100, NVIDIA H200", "650.5, 700")


def test_a_gpu_of_another_model_that_no_rank_used_takes_no_part() -> None:
    node = {**NODE, "gpu1_name": "NVIDIA T400", "gpu1_power_limit_w": "30.0"}
    used = of([node], spec=CUDA, device_names=["NVIDIA H200"])
    assert (used["gpu"], used["gpu_power_limit_w"]) == ("NVIDIA H200", "700")
    # for a run that failed before a rank could name its GPU
    assert of([node], spec=CUDA)["gpu"] == "NVIDIA H200, NVIDIA T400"


def test_a_run_on_cpus_says_nothing_of_gpus() -> None:
    node = {**NODE, "cpu_model": "Some CPU", "cpus_given": "8"}
    assert not {"gpu", "driver", "cuda"} & of([node]).keys()
    assert of([node])["cpu_model"] == "Some CPU"


@pytest.mark.parametrize(
    ("set_", "told"),
    [
        ({"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}, "NCCL_ALGO=Ring NCCL_PROTO=LL"),
        ({"NCCL_DEBUG": "INFO", "SLURM_JOB_ID": "7"}, "none set"),
    ],
)
def test_variables_that_libraries_obey_are_told_and_others_are_not(set_: dict[str, str], told: str) -> None:
    assert of([{**NODE, **set_}])["variables"] == told


def test_threads_per_rank_are_told_of_a_run_on_cpus_unless_they_are_its_size() -> None:
    assert of([{}], spec=dataclasses.replace(CPU, threads=2))["threads"] == "2"
    assert "threads" not in of([{}], spec=dataclasses.replace(CPU, threads=2, axis="threads"))
    assert "threads" not in of([{}], spec=CUDA)


def test_a_command_whose_ranks_did_not_all_report_has_unknown_settings() -> None:
    """The batch is among the settings, and only the probes count it: a run that failed is no other experiment."""
    command = dataclasses.replace(CPU, workload="command", workload_options={"script": "train.py"})
    assert command.world_size == 2
    assert "settings" in of([{}], command, commands={"0": {}, "1": {}})
    assert "settings" not in of([{}], command, commands={"0": {}})
    assert "settings" not in of([{}], command)
