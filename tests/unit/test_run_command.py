"""`bench run` and `bench suite` are one command: a suite, or after two dashes a script's own command."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bench.cli import group
from bench.cli.run import command


def call(*arguments: str) -> Result:
    return CliRunner().invoke(group, arguments, prog_name="bench")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    return tmp_path


def test_both_names_have_one_help() -> None:
    run, suite = call("run", "--help"), call("suite", "--help")
    assert run.output.replace("Usage: bench run", "Usage: bench suite") == suite.output
    assert "[SUITE | -- COMMAND [ARG]...]" in run.output


def test_each_option_is_in_one_group_of_the_help() -> None:
    groups = command.option_groups  # type: ignore[attr-defined]
    grouped = [name for names in groups.values() for name in names]
    options = [one.name for one in command.params if isinstance(one, click.Option)]
    assert sorted(grouped) == sorted(options)
    lines = call("run", "--help").output.splitlines()
    assert max(map(len, lines)) <= 80
    headings = [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == [*groups, "Options"]


@pytest.mark.parametrize(
    "words",
    [
        ["smoke", "--quick", "--case", "ddp*", "--steps", "7"],
        ["--world", "1,2", "--", "python", "train.py", "--quick"],
        ["smoke", "--case", "nothing"],
        [],
    ],
)
def test_both_names_do_the_same(words: list[str]) -> None:
    run, suite = (call(name, "--dry-run", *words) for name in ("run", "suite"))
    assert (run.exit_code, run.output, str(run.exception)) == (
        suite.exit_code,
        suite.output,
        str(suite.exception),
    )
    assert run.output or run.exception


def plan(*words: str) -> list[dict[str, object]]:
    done = call("run", "--dry-run", "--json", *words)
    assert done.exit_code == 0, done.exception
    found: list[dict[str, object]] = json.loads(done.output)["plan"]
    return found


def test_the_options_of_a_script_are_the_scripts() -> None:
    assert len(plan("--world", "1", "--", "python", "train.py", "--repeats", "7")) == 3
    assert len(plan("--world", "1", "python", "train.py", "--repeats", "7")) == 3
    assert len(plan("--world", "1", "--repeats", "7", "--", "python", "train.py")) == 7


def test_a_suite_is_preferred_to_a_program_of_its_name(folder: Path) -> None:
    (folder / "suites").mkdir()
    (folder / "suites/python.yaml").write_text(
        "title: T\nworkload: {name: spiral_mlp}\nmeasure: {steps: 3}\n"
        "cases: [{name: mine, strategy: single, scaling: none, batch_per_rank: 8, world: [1]}]\n"
    )
    assert {run["case_name"] for run in plan("python")} == {"mine"}


def test_steps_of_a_suite_are_a_setting_of_it() -> None:
    given = ("--steps", "7", "--warmup", "3", "--timeout", "20")
    set_ = ("--set", "measure.steps=7", "--set", "measure.warmup=3", "--set", "measure.timeout_s=20")
    estimates = [
        json.loads(call("run", "smoke", "--quick", "--dry-run", "--json", *words).output)["estimate"]
        for words in (given, set_, ())
    ]
    assert estimates[0] == estimates[1] != estimates[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [],
            "nothing to run: name a suite, as in `bench run smoke`; give a command after two dashes, as in ",
        ),
        (["smoke", "--", "python", "train.py"], "the suite smoke and the command python are both given"),
        (["--quick", "--", "python", "train.py"], "--quick: only for a suite"),
        (["smoke", "--cwd", ".", "--scaling", "weak"], "--scaling, --cwd: only for a command"),
        (
            ["train.py"],
            "train.py is a script: give the command that starts it: bench {name} -- python train.py",
        ),
        (["--resume", "s", "--steps", "3"], "--steps: a resumed session keeps its plan"),
        (["--dry-run", "--", "python", "missing.py"], "case script: missing.py is not a file in"),
        (["--dry-run", "--", "no-such-program"], "no-such-program is not on PATH"),
        (
            ["--env", "RANK=1", "--", "python", "train.py"],
            "--env RANK=1: 'RANK' cannot be set, because bench sets",
        ),
        (
            ["--env", "OMP_NUM_THREADS=1", "--", "python", "train.py"],
            "--env OMP_NUM_THREADS=1: the threads of a rank",
        ),
    ],
)
@pytest.mark.parametrize("name", ["run", "suite"])
def test_a_call_that_cannot_be_meant_says_what_to_give(
    name: str, words: list[str], said: str, folder: Path
) -> None:
    done = call(name, *words)
    assert said.replace("{name}", name) in str(done.exception)
    assert getattr(done.exception, "exit_code", None) == 2
    assert not (folder / "results").exists()
