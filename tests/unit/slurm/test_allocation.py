"""The request to Slurm and its answer, from variables and records captured on a real cluster (captured/)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import bench
from bench.records.run_spec import Slots
from bench.slurm.accounting import max_rss
from bench.slurm.allocation import facts, mismatches
from bench.slurm.job import read_job

CAPTURED = Path(__file__).parent / "captured"


def environment(shape: str) -> dict[str, str]:
    lines = (CAPTURED / f"{shape}.txt").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def slots(nodes: int = 1, gpus: int = 0, cpus: int = 8) -> Slots:
    return Slots(
        nodes=nodes, slots_per_node=gpus or cpus, cpus_per_node=cpus, device_type="cpu", fixed=bool(gpus)
    )


def test_a_task_of_a_batch_jobs_step_knows_what_it_was_given() -> None:
    assert facts(environment("batch_step")) == {
        "slurm_cluster": "scalebench",
        "slurm_cpus_on_node": "2",
        "slurm_cpus_per_task_requested": "2",
        "slurm_ends_at": "2026-11-21T14:01:43+00:00",
        "slurm_exclusive": "NO",
        "slurm_gpu_ids": "0,1,2,3",
        "slurm_gpus_on_node": "4",
        "slurm_gpus_per_node_requested": "4",
        "slurm_job_id": "5",
        "slurm_job_name": "odd=name",
        "slurm_memory_per_node_bytes": "2147483648",
        "slurm_node_list": "n[1-2]",
        "slurm_nodes": "2",
        "slurm_partition": "gpu",
        "slurm_started_at": "2026-11-21T13:51:43+00:00",
        "slurm_step_id": "0",
        "slurm_step_node_list": "n[1-2]",
        "slurm_step_nodes": "2",
        "slurm_step_tasks": "2",
        "slurm_step_tasks_per_node": "1(x2)",
        "slurm_time_limit_s": "600",
        "slurm_tres_per_task": "cpu=2",
    }


def test_the_record_of_the_job_adds_what_a_step_is_not_told() -> None:
    step = facts(environment("batch_step"))
    both = facts(environment("batch_step"), read_job(CAPTURED, "5"))
    assert {key: value for key, value in both.items() if key not in step} == {
        "slurm_cpus": "4",
        "slurm_gres_detail": "gpu:h200:4(IDX:0-3); gpu:h200:4(IDX:0-3)",
        "slurm_tres_allocated": "cpu=4,node=2,billing=4",
        "slurm_tres_per_node": "gres/gpu:4",
        "slurm_tres_requested": "cpu=4,mem=4G,node=2,billing=4",
    }
    assert {key: both[key] for key in step} == step


def test_a_record_in_one_line_says_the_same(tmp_path: Path) -> None:
    shutil.copy(CAPTURED / "slurm-job-5.txt", tmp_path)
    of_json, of_line = read_job(CAPTURED, "5"), read_job(tmp_path, "5")
    assert of_json is not None
    assert of_line is not None
    shared = of_json.keys() & of_line.keys()
    assert {key: of_line[key] for key in shared} == {key: of_json[key] for key in shared}
    assert {"slurm_tres_per_node", "slurm_tres_allocated", "slurm_time_limit_s", "slurm_job_name"} <= shared


def test_numbers_of_an_older_slurm_are_plain(tmp_path: Path) -> None:
    job = {
        "name": "old",
        "cpus": 4,
        "time_limit": 10,
        "memory_per_node": 2048,
        "start_time": 1795269103,
        "end_time": 0,
    }
    (tmp_path / "slurm-job-5.json").write_text(json.dumps({"jobs": [job]}))
    assert read_job(tmp_path, "5") == {
        "slurm_job_name": "old",
        "slurm_cpus": "4",
        "slurm_memory_per_node_bytes": "2147483648",
        "slurm_started_at": "2026-11-21T13:51:43+00:00",
        "slurm_time_limit_s": "600",
    }


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"jobs": []}', '{"jobs": [null]}', "slurm_load_jobs error"]
)
def test_a_record_that_cannot_be_read_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "slurm-job-5.json").write_text(text)
    (tmp_path / "slurm-job-5.txt").write_text(text)
    assert read_job(tmp_path, "5") is None


def test_outside_of_a_job_there_is_nothing_to_say() -> None:
    assert facts({"PATH": "/bin"}) == {}


@pytest.mark.parametrize(
    "shape", sorted(path.stem for path in CAPTURED.glob("*.txt") if "job" not in path.stem)
)
def test_nobodys_name_and_no_address_is_among_the_facts(shape: str) -> None:
    found = facts(environment(shape))
    assert found["slurm_job_id"]
    assert [value for value in found.values() if value in ("user", "1000") or value.startswith("10.77")] == []


@pytest.mark.parametrize(
    ("shape", "have"),
    [
        ("two_nodes", slots(nodes=2, gpus=4, cpus=1)),
        ("gpus_8", slots(nodes=2, gpus=4, cpus=1)),
        ("task_per_gpu", slots(nodes=2, gpus=4, cpus=4)),
        ("batch_step", slots(nodes=2, gpus=4, cpus=2)),
        ("one_cpu_task", slots(cpus=2)),
    ],
)
def test_a_step_that_has_what_was_asked_for_gets_no_warning(shape: str, have: Slots) -> None:
    given = environment(shape)
    assert mismatches(facts(given, read_job(CAPTURED, given["SLURM_JOB_ID"])), have) == []


@pytest.mark.parametrize(
    ("shape", "change", "have", "said"),
    [
        (
            "gpus_8", {"SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NUM_TASKS": "1"}, slots(gpus=4, cpus=1),
            [
                "the job has 2 nodes (SLURM_JOB_NUM_NODES), this step runs on 1: start it with `srun --nodes=2` to use "
                "them all",
                "asked for 8 GPUs (SLURM_GPUS), this node was given 4 and the step runs on 1 node: ask with --nodes "
                "and --gpus-per-node, which fix the shape",
            ],
        ),
        (
            "task_per_gpu", {"SLURM_GPUS_ON_NODE": "2"}, slots(nodes=2, gpus=2, cpus=4),
            [
                "asked for 8 GPUs (TresPerTask), this node was given 2 and the step runs on 2 nodes: ask with --nodes "
                "and --gpus-per-node, which fix the shape"
            ],
        ),
        (
            "batch_step", {"SLURM_CPUS_ON_NODE": "64"}, slots(nodes=2, gpus=4, cpus=2),
            [
                "Slurm gave 64 CPUs on a node (SLURM_CPUS_ON_NODE), the step's task may use 2: start it with "
                "`srun --cpus-per-task=64`"
            ],
        ),
        (
            "batch_step", {"SLURM_CPUS_ON_NODE": "8", "SLURM_CPUS_PER_TASK": "8"}, slots(nodes=2, gpus=4, cpus=2),
            [
                "Slurm gave 8 CPUs on a node (SLURM_CPUS_ON_NODE), the step's task may use 2: fewer CPUs than asked "
                "for (SLURM_CPUS_PER_TASK=8): the node's cpuset is smaller, ask the cluster's staff; or the option was "
                "given to sbatch only, and srun needs it, too"
            ],
        ),
    ],
)  # fmt: skip
def test_what_a_step_lacks_is_said_with_the_numbers_and_the_remedy(
    shape: str, change: dict[str, str], have: Slots, said: list[str]
) -> None:
    assert mismatches(facts(environment(shape) | change), have) == said


def test_gpus_that_cuda_does_not_see_are_missed() -> None:
    have = Slots(nodes=2, slots_per_node=1, cpus_per_node=2, device_type="cuda", cuda_devices_per_node=1)
    (sentence,) = mismatches(facts(environment("batch_step")), have)
    assert sentence.startswith(
        "Slurm gave 4 GPUs on a node (SLURM_GPUS_ON_NODE), CUDA sees 1: give all of them"
    )


@pytest.mark.parametrize(
    ("variables", "asked"),
    [
        ({"SLURM_GPUS": "h200:4,a100:4"}, 8),
        ({"SLURM_GPUS_PER_NODE": "h200:4"}, 8),
        ({"SLURM_GPUS_PER_TASK": "1"}, 2),
        ({"SLURM_TRES_PER_TASK": "cpu=2,gres/gpu:h200=1"}, 2),
        ({"SLURM_TRES_PER_TASK": "gres:gpu:3"}, 6),
        ({"SLURM_TRES_PER_TASK": "cpu=16"}, 0),
    ],
)
def test_gpus_are_counted_however_they_were_asked_for(variables: dict[str, str], asked: int) -> None:
    step = {"SLURM_JOB_ID": "5", "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NUM_TASKS": "2"}
    said = mismatches(facts(step | variables), slots(nodes=2))
    assert [sentence.split(" (")[0] for sentence in said] == ([f"asked for {asked} GPUs"] if asked else [])


def accounts(*steps: tuple[Any, int | None]) -> dict[str, Any]:
    """As `sacct --json` writes it."""
    written = [
        {
            "step": {"id": step_id, "name": "bench"},
            "tres": {"requested": {"max": [{"type": "cpu", "count": 9}]
                                   + ([] if rss is None else [{"type": "mem", "name": "", "count": rss}])}},
        }
        for step_id, rss in steps
    ]  # fmt: skip
    return {"jobs": [{"job_id": 5, "steps": written}]}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            accounts(("5.batch", 9_999_999), ("5.extern", 1), ("5.0", 4_194_304), ("5.1", 8_388_608)),
            8_388_608,
        ),
        (accounts(({"job_id": 5, "step_id": "batch"}, 9), ({"job_id": 5, "step_id": "0"}, 4096)), 4096),
        (accounts(("5.0", None)), None),
        (accounts(("5.0", 0)), None),
        (accounts(), None),
        ({"jobs": []}, None),
        ({"errors": ["Slurm accounting storage is disabled"]}, None),
        ([], None),
        (None, None),
    ],
)
def test_max_rss_is_the_largest_of_the_numbered_steps(document: Any, expected: int | None) -> None:
    assert max_rss(document) == expected


DISCREET = (Path(bench.__file__).parent / "slurm/batch_step.sh").read_text().partition("\n)\n")[0] + "\n)\n"


@pytest.mark.parametrize("name", ["slurm-job-5.json", "slurm-job-5.txt"])
def test_what_a_batch_script_keeps_of_slurms_record_is_not_how_the_job_was_submitted(
    tmp_path: Path, name: str
) -> None:
    told = "sbatch --export=HF_TOKEN=abc"
    record = (CAPTURED / name).read_text()
    given = record.replace("sbatch --wait", told)
    assert given != record
    (tmp_path / "given").write_text(given)
    done = subprocess.run(
        ["bash", "-c", f"{DISCREET}discreet cat given > {name}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    kept = (tmp_path / name).read_text()
    assert "HF_TOKEN" not in kept, done.stderr
    (tmp_path / "as-captured").mkdir()
    shutil.copy(CAPTURED / name, tmp_path / "as-captured")
    assert read_job(tmp_path, "5") == read_job(tmp_path / "as-captured", "5") is not None
