"""docs/examples/jobs/kubernetes.yaml is a manifest that JobSet takes, and its pods are the tasks of one launch."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.unit.launch.test_launchers import task

ROOT = Path(__file__).parents[3]
MANIFEST = ROOT / "docs/examples/jobs/kubernetes.yaml"
JOB_SET = ROOT / "tests/data/jobset/jobset-v0.12.0.schema.json"


def problems(manifest: Path) -> str:
    """The mistakes that the schema of JobSet finds."""
    program = Path(sys.executable).with_name("check-jsonschema")
    done = subprocess.run(
        [program, "--schemafile", JOB_SET, manifest], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_it_is_valid_by_the_schema_that_jobset_publishes() -> None:
    assert problems(MANIFEST) == ""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("completions: 2", "completion: 2", "'completion' was unexpected"),
        ("backoffLimit: 0", "backoffLimit: none", "'none' is not of type 'integer'"),
        ("- name: BENCH_TASKS", "- title: BENCH_TASKS", "'name' is a required property"),
        ("  replicatedJobs:", "  jobs:", "'jobs' was unexpected"),
    ],
)
def test_the_schema_finds_a_mistake(tmp_path: Path, before: str, after: str, said: str) -> None:
    text = MANIFEST.read_text()
    assert before in text
    (tmp_path / "manifest.yaml").write_text(text.replace(before, after))
    assert said in problems(tmp_path / "manifest.yaml")


def test_its_pods_are_the_tasks_of_one_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = yaml.safe_load(MANIFEST.read_text())
    (replicated,) = manifest["spec"]["replicatedJobs"]
    job = replicated["template"]["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    given = {one["name"]: one["value"] for one in container["env"]}
    tasks = []
    for index in range(job["completions"]):
        # JobSet: <jobSet.name>-<spec.replicatedJob.name>-<job-index>-<pod-index>
        host = f"{manifest['metadata']['name']}-{replicated['name']}-0-{index}"
        monkeypatch.setattr(socket, "gethostname", lambda host=host: host)
        tasks.append(task(given | {"JOB_COMPLETION_INDEX": str(index)}))
    assert [(one.task, one.tasks) for one in tasks] == [(0, 2), (1, 2)]
    assert len({one.key for one in tasks}) == 1
