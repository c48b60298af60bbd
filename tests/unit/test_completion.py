"""The Tab key in bash, zsh and fish, and the setup of editors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import group

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a suite, two sessions, and `bench` on PATH."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites/mine.yaml").write_text("title: My own suite\n")
    for name in ("20260101T-old", "20260102T-new"):
        (tmp_path / "results" / name).mkdir(parents=True)
        (tmp_path / "results" / name / "session.json").touch()
    program = tmp_path / "bin/bench"
    program.parent.mkdir()
    program.write_text(f'#!/bin/bash\nexec {sys.executable} -m bench "$@"\n')
    program.chmod(0o755)
    return tmp_path


def run(folder: Path, command: list[str], **environ: str) -> str:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("BENCH_")}
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**kept, "PATH": path, "PYTHONPATH": str(ROOT), **environ}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


WORDS = [
    (["suite", "mi"], ["mine"]),
    (["suite", "--repeats", "3", "mi"], ["mine"]),
    (["run", "--resu"], ["--results", "--resume"]),
    (["summ"], ["summary"]),
    (["summary", ""], ["@latest", "20260102T-new", "20260101T-old"]),
    (["compare", "20260101T-old,2026"], ["20260101T-old,20260102T-new", "20260101T-old,20260101T-old"]),
    (["run", "--resume", "@"], ["@latest"]),
    (["run", "--device", "c"], ["cpu", "cuda"]),
]


@pytest.mark.parametrize(("words", "completed"), WORDS)
def test_bash_completes(words: list[str], completed: list[str], folder: Path) -> None:
    line = ["bench", *words]
    script = (
        'eval "$(_BENCH_COMPLETE=bash_source bench)"; '
        f'COMP_WORDS=("$@"); COMP_CWORD={len(words)}; _bench_completion bench; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    assert run(folder, ["bash", "-c", script, "bash", *line]).splitlines() == completed


@pytest.mark.parametrize(("words", "completed"), WORDS)
def test_zsh_and_fish_get_the_same(words: list[str], completed: list[str], folder: Path) -> None:
    """Click's scripts for these shells ask this, and read it; tests/e2e has the shells themselves."""
    line = " ".join(["bench", *(word or "''" for word in words)])
    zsh = run(folder, ["bench"], _BENCH_COMPLETE="zsh_complete", COMP_WORDS=line, COMP_CWORD=str(len(words)))
    assert zsh.splitlines()[1::3] == completed
    fish_words = " ".join(["bench", *words[:-1]])
    fish = run(
        folder, ["bench"], _BENCH_COMPLETE="fish_complete", COMP_WORDS=fish_words, COMP_CWORD=words[-1]
    )
    found = [one.partition(",")[2].partition("\t")[0] for one in fish.splitlines()]
    assert found == completed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_defines_the_completion(shell: str, folder: Path) -> None:
    script = run(folder, ["bench"], _BENCH_COMPLETE=f"{shell}_source")
    assert f"_BENCH_COMPLETE={shell}_complete" in script


def test_after_two_dashes_and_in_a_path_files_are_completed(folder: Path) -> None:
    for line, number in (("bench run -- python tr", 4), ("bench run ./mi", 2)):
        found = run(
            folder, ["bench"], _BENCH_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(number)
        )
        assert found.startswith("file,")


def test_one_command_sets_up_an_editor_for_a_suite(tmp_path: Path) -> None:
    suite = tmp_path / "mine.yaml"
    suite.write_text("title: T\r\n", newline="")
    for _ in range(2):  # the second time changes nothing
        done = CliRunner().invoke(group, ["schema", "--editor", str(suite)])
        assert done.exit_code == 0, done.exception
        assert suite.read_bytes() == b"# yaml-language-server: $schema=suite.schema.json\ntitle: T\r\n"
    schema = json.loads((tmp_path / "suite.schema.json").read_text())
    assert "workload" in schema["properties"]
    assert json.loads(CliRunner().invoke(group, ["schema"]).output) == schema
