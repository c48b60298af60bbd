"""`bench script --for` other schedulers: the printed text. tests/e2e/cluster runs the one that calls mpiexec."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.slurm.conftest import Script

SIZE = ("--nodes", "2", "--gpus-per-node", "4", "--cpus-per-task", "16", "--time", "1:30:00")
NAMES = ("--account", "lab-1", "--partition", "gpu", "--session", "july")
HEADS = {
    "pbs": [
        "#PBS -N smoke", "#PBS -l select=2:ncpus=16:mpiprocs=1:ngpus=4", "#PBS -l place=scatter", "#PBS -j oe",
        "#PBS -l walltime=01:30:00", "#PBS -A lab-1", "#PBS -q gpu",
    ],
    "lsf": [
        "#BSUB -J smoke", "#BSUB -n 2", '#BSUB -R "span[ptile=1] affinity[core(16)]"', '#BSUB -gpu "num=4/host"',
        "#BSUB -W 1:30", "#BSUB -P lab-1", "#BSUB -q gpu",
    ],
    "mpi": [],
}  # fmt: skip
JOB_SET = Path(__file__).parents[2] / "data/jobset/jobset-v0.12.0.schema.json"


@pytest.mark.parametrize("scheduler", HEADS)
def test_the_head_asks_for_what_the_call_asks_for(script: Script, scheduler: str) -> None:
    done = script("--for", scheduler, *SIZE, *NAMES)
    assert (done.code, done.said) == (0, "")
    assert [line for line in done.text.splitlines() if line.startswith(("#PBS", "#BSUB"))] == HEADS[scheduler]
    assert "sleep 5280 &" in done.text  # 90 minutes without two
    call = done.text.replace("\\\n", "").partition("\nmpiexec ")[2].splitlines()[0].split()
    assert call[:6] == ["-n", "2", '"${each_node[@]}"', '"$@"', '"${container[@]}"', "--nv"]
    assert call[7:10] == ["bench", "suite", "smoke"]
    assert subprocess.run(["bash", "-n"], input=done.text, text=True, check=False).returncode == 0


def test_a_short_call_asks_for_no_more_than_it_must(script: Script) -> None:
    done = script("--for", "pbs")
    assert [line for line in done.text.splitlines() if line.startswith("#PBS")] == [
        "#PBS -N smoke", "#PBS -l select=1:mpiprocs=1", "#PBS -l place=scatter", "#PBS -j oe",
    ]  # fmt: skip
    assert "sleep" not in done.text
    assert "--nv" not in done.text


def test_kubernetes_gets_a_job_set_with_a_pod_for_each_node(script: Script) -> None:
    done = script(
        "--for", "k8s", *SIZE, "--session", "July_1", "--tag", "it's", image="registry.example/bench:1"
    )
    assert (done.code, done.said) == (0, "")
    manifest: dict[str, Any] = yaml.safe_load(done.text)
    assert (manifest["kind"], manifest["metadata"]) == ("JobSet", {"name": "bench-july-1"})
    (replicated,) = manifest["spec"]["replicatedJobs"]
    job = replicated["template"]["spec"]
    assert (job["completionMode"], job["completions"], job["parallelism"]) == ("Indexed", 2, 2)
    assert job["activeDeadlineSeconds"] == 5400
    (container,) = job["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/bench:1"
    assert container["args"] == [
        "suite", "smoke", "--tag", "it's", "--session", "July_1", "--results", "/results",
    ]  # fmt: skip
    assert container["env"] == [{"name": "BENCH_TASKS", "value": "2"}]
    assert container["resources"]["limits"] == {"cpu": 16, "nvidia.com/gpu": 4}
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in job["template"]["spec"]["volumes"]}


def problems(manifest: Path) -> str:
    """The mistakes that the schema of JobSet finds."""
    program = Path(sys.executable).with_name("check-jsonschema")
    done = subprocess.run(
        [program, "--schemafile", JOB_SET, manifest], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (*SIZE, "--session", "July_1", "--tag", "it's"),
        (
            "--nodes",
            "64",
            "--device",
            "cpu",
            "--results",
            "/shared/r",
            "--repeats",
            "5",
            "--set",
            "measure.steps=7",
        ),
    ],
)
def test_a_manifest_is_valid_by_the_schema_that_jobset_publishes(
    script: Script, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = script("--for", "k8s", *arguments, image="registry.example/bench:1")
    assert done.code == 0, done.said
    (tmp_path / "manifest.yaml").write_text(done.text)
    assert problems(tmp_path / "manifest.yaml") == ""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("completions: 2", "completion: 2", "'completion' was unexpected"),
        ("backoffLimit: 0", "backoffLimit: none", "'none' is not of type 'integer'"),
        ("- name: BENCH_TASKS", "- title: BENCH_TASKS", "'name' is a required property"),
        ("  replicatedJobs:", "  jobs:", "'jobs' was unexpected"),
    ],
)
def test_the_schema_finds_a_mistake_in_a_manifest(
    script: Script, tmp_path: Path, before: str, after: str, said: str
) -> None:
    text = script("--for", "k8s", *SIZE, image="registry.example/bench:1").text
    assert before in text
    (tmp_path / "manifest.yaml").write_text(text.replace(before, after))
    assert said in problems(tmp_path / "manifest.yaml")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--for", "pbs", "--image", "other.sif"], "two images, --rounds and --sbatch are for Slurm"),
        (["--for", "lsf", "--sbatch", "--exclusive"], "two images, --rounds and --sbatch are for Slurm"),
        (["--for", "mpi", "--time", "soon"], "--time soon: Slurm writes times as"),
        (["--for", "pbs", "--partition", "a b"], "--partition 'a b': names are letters"),
        (["--for", "k8s", "--data", "/data"], "a pod cannot read /data, a folder of this machine"),
        (["--for", "k8s", "--partition", "gpu"], "--account and --partition are not for Kubernetes"),
        (["--for", "k8s", "--results", "here"], "--results here: the volume needs a whole path"),
    ],
)
def test_what_the_scheduler_cannot_take_is_refused(script: Script, arguments: list[str], said: str) -> None:
    done = script(*arguments)
    assert (done.code, done.text) == (2, "")
    assert said in done.said
