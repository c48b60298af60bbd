"""The CI job files of docs/ci: their schemas, their shell, and that both do the same."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ci_jobs import SCRIPTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_finds_nothing_in_a_jobs_script(name: str, require_program: Callable[[str], str]) -> None:
    shellcheck = require_program("shellcheck")
    for script in SCRIPTS[name].values():
        done = subprocess.run(
            [shellcheck, "--shell=bash", "-"], input=script, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


def test_both_call_bench_alike() -> None:
    def calls(name: str) -> list[list[str]]:
        scripts = [re.sub(r"GITHUB_RUN_ID|CI_PIPELINE_ID", "ID", script) for script in SCRIPTS[name].values()]
        return [
            re.findall(
                r"^ *((?:bench|mkdir|for|tar) [^\n>]*)",
                script.replace("main/archives/", "main/"),
                re.MULTILINE,
            )
            for script in scripts
        ]

    assert calls("gitlab") == calls("github")


def test_all_pack_sessions_as_the_documents_say() -> None:
    (line,) = re.findall(r"^\$ (tar -czf .*)$", (ROOT / "docs/files.md").read_text(), re.MULTILINE)
    assert line in (ROOT / "docs/how-to/merge-request.md").read_text()
    of_job = line.replace("A.tar.gz", '"archives/$session.tar.gz"').replace(" A", ' "$session"')
    assert all(of_job in jobs["measure"] for jobs in SCRIPTS.values())
    excluded = re.findall(r"--exclude=\S+", line)
    assert " ".join(excluded) in (ROOT / "ci/gpu").read_text()


@pytest.mark.parametrize(
    ("name", "schema", "change"),
    [
        ("github", "vendor.github-workflows", lambda jobs: jobs["jobs"]["compare"].pop("runs-on")),
        ("gitlab", "vendor.gitlab-ci", lambda jobs: jobs["compare"].update(rules="always")),
    ],
)
def test_lint_would_find_a_mistake(
    tmp_path: Path, name: str, schema: str, change: Callable[[Any], None]
) -> None:
    assert f"--builtin-schema {schema} docs/ci/{name}.yml" in (ROOT / "ci/test").read_text()
    jobs = yaml.load((ROOT / f"docs/ci/{name}.yml").read_text(), Loader=yaml.BaseLoader)  # else `on` is true
    change(jobs)
    (tmp_path / "bad.yml").write_text(yaml.safe_dump(jobs))
    program = Path(sys.executable).with_name("check-jsonschema")
    done = subprocess.run(
        [program, "--builtin-schema", schema, tmp_path / "bad.yml"], capture_output=True, check=False
    )
    assert done.returncode == 1
