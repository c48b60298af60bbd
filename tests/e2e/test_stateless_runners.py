"""The CI job files of docs/ci on runners that keep nothing: measure main, measure a change, load all, compare."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ci_jobs import SCRIPTS

NET = """
import parts
from bench.workloads import Workload

class Net(Workload):
    def model(self):
        return parts.model()

    def batch(self, places, keys):
        import torch
        return {"points": torch.ones(len(places), 3)}

    def loss(self, model, batch):
        return model(batch["points"]).square().mean()
"""
PARTS = "def model():\n    from torch import nn\n    return nn.Linear(3, WIDTH)\n"
SUITE = """
title: Mine
workload: {name: ./net.py:Net}
device: cpu
measure: {warmup: 1, steps: 4, repeats: 2, timeout_s: 60}
cases:
  - {name: one, strategy: single, scaling: none, batch_per_rank: 8, world: [1]}
"""
CURL = """#!/bin/sh
while [ "$1" != --output ]; do shift; done
cd ../main && zip_of() { python3 -m zipfile -c "$1" archives; } && zip_of "$OLDPWD/$2"
"""
GH = """#!/bin/sh
if [ "$2" = list ]; then echo 7; else cp -r ../main/archives main; fi
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, "-C", folder, *arguments], check=True, capture_output=True)


def commit_of(folder: Path) -> str:
    command = ["git", "-C", folder, "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass
class Runners:
    """A folder `main` and a folder `change` of runners that have measured; other runners have their artefacts."""

    folder: Path
    variables: dict[str, str]

    def job(self, script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        # two runs of a few milliseconds may differ by more than 5 %
        script = script.replace("suite smoke --repeats 10", "suite ./mine.yaml").replace(" 5% ", " 99% ")
        script = script.replace("--format markdown", "--format markdown --max-regression 99%")
        said = {"GITHUB_STEP_SUMMARY": str(folder / "comparison.md"), **environment}
        command = ["bash", "-c", script]
        return subprocess.run(
            command, cwd=folder, env=self.variables | said, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def runners(tmp_path_factory: pytest.TempPathFactory) -> Runners:
    """Both sides are measured once: `measure` is the same in both files, as a test below shows."""
    folder = tmp_path_factory.mktemp("runners")
    programs = folder / "programs"
    programs.mkdir()
    for program, text in {"curl": CURL, "gh": GH}.items():
        (programs / program).write_text(text)
        (programs / program).chmod(0o755)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {
        **os.environ, "PATH": path, "CI_PIPELINE_ID": "5", "READ_TOKEN": "",
        "CI_API_V4_URL": "", "CI_PROJECT_ID": "", "CI_DEFAULT_BRANCH": "main",
    }  # fmt: skip
    made = Runners(folder, variables)
    main, change = folder / "main", folder / "change"
    main.mkdir()
    for file, text in {"net.py": NET, "parts.py": PARTS.replace("WIDTH", "4"), "mine.yaml": SUITE}.items():
        (main / file).write_text(text)
    git(main, "init", "--quiet")
    git(main, "add", ".")
    git(main, "commit", "--quiet", "--message=one")
    shutil.copytree(main, change)
    (change / "parts.py").write_text(PARTS.replace("WIDTH", "5"))
    git(change, "commit", "--quiet", "--all", "--message=two")
    for side in (main, change):
        done = made.job(SCRIPTS["gitlab"]["measure"].replace("1 2 3", "1 2"), side, SIDE=side.name)
        assert done.returncode == 0, done.stderr
    return made


def test_both_files_measure_alike() -> None:
    """GitHub's shell has other options, and the number of a pipeline another name."""
    gitlab, github = (SCRIPTS[name]["measure"].split("\n", 1) for name in ("gitlab", "github"))
    assert (gitlab[0], github[0]) == ("set -eu", "set -eo pipefail")
    assert gitlab[1].strip().replace("$CI_PIPELINE_ID", "$GITHUB_RUN_ID") == github[1].strip()


@pytest.mark.parametrize("name", SCRIPTS)
def test_stateless_runners_compare_a_change_and_name_its_files(runners: Runners, name: str) -> None:
    main, change, fresh = (runners.folder / one for one in ("main", "change", name))
    fresh.mkdir()
    shutil.copytree(change / "archives", fresh / "archives")
    done = runners.job(SCRIPTS[name]["compare"], fresh)
    assert done.returncode == 0, done.stdout + done.stderr
    commits = f"{commit_of(main)} → {commit_of(change)}"
    assert f"the code differs: parts.py (commit {commits})" in done.stdout
    commits = f"`{commit_of(main)}` → `{commit_of(change)}`"
    assert f"> - the code differs: `parts.py` (commit {commits})" in (fresh / "comparison.md").read_text()
    assert "net.py" not in done.stdout
