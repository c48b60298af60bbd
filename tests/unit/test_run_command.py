"""`bench suite` runs a suite, `bench run` a command; each has its own options, and names the other if that is meant."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bench.cli import group, run, suite
from bench.session.folder import SessionFolder
from tests.factory import Case, make_session


def call(*arguments: str) -> Result:
    return CliRunner().invoke(group, arguments, prog_name="bench")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("train.py", "my train.sh", "readable", "no_first_line", "no_first_line.py"):
        (tmp_path / name).write_text("pass\n")
    for name in ("no_first_line", "no_first_line.py"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / "sub folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(("name", "command"), [("run", run.command), ("suite", suite.command)])
def test_each_option_is_in_one_group_of_the_help(name: str, command: click.Command) -> None:
    groups = command.option_groups  # type: ignore[attr-defined]
    grouped = [name for names in groups.values() for name in names]
    options = [one.name for one in command.params if isinstance(one, click.Option)]
    assert sorted(grouped) == sorted(options)
    lines = call(name, "--help").output.splitlines()
    assert max(map(len, lines)) <= 80
    headings = [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == [*groups, "Options"]


def test_each_has_its_own_options() -> None:
    ran, of_a_suite = (
        {option for one in command.params if isinstance(one, click.Option) for option in one.opts}
        for command in (run.command, suite.command)
    )
    assert of_a_suite - ran == {"--quick", "--case", "--data", "--python"}
    assert ran - of_a_suite == {
        *("--env", "--cwd", "--isolate", "--name", "--scaling", "--batch-per-rank", "--global-batch"),
        *("--examples-per-step", "--pauses", "--step-optimizer"),
    }
    assert "a suite" not in call("run", "--help").output.partition("Where it runs:")[2]


def plan(*words: str) -> list[dict[str, object]]:
    done = (
        call(*words, "--dry-run", "--json")
        if words[0] == "suite"
        else call("run", "--dry-run", "--json", *words)
    )
    assert done.exit_code == 0, done.exception
    found: list[dict[str, object]] = json.loads(done.output)["plan"]
    return found


def test_the_options_of_a_command_are_the_commands() -> None:
    assert len(plan("--world", "1", "--", "python", "train.py", "--repeats", "7")) == 3
    assert len(plan("--world", "1", "python", "train.py", "--repeats", "7")) == 3
    assert len(plan("--world", "1", "--repeats", "7", "--", "python", "train.py")) == 7


def test_a_suite_and_a_program_may_have_one_name(folder: Path) -> None:
    (folder / "suites").mkdir()
    (folder / "suites/python.yaml").write_text(
        "title: T\nworkload: {name: spiral_mlp}\nmeasure: {steps: 3}\n"
        "cases: [{name: mine, strategy: single, scaling: none, batch_per_rank: 8, world: [1]}]\n"
    )
    assert {run["case_name"] for run in plan("suite", "python")} == {"mine"}
    assert {run["case_name"] for run in plan("python", "train.py")} == {"command"}


def test_steps_of_a_suite_are_a_setting_of_it() -> None:
    given = ("--steps", "7", "--warmup", "3", "--timeout", "20")
    set_ = ("--set", "measure.steps=7", "--set", "measure.warmup=3", "--set", "measure.timeout_s=20")
    estimates = [
        json.loads(call("suite", "smoke", "--quick", "--dry-run", "--json", *words).output)["estimate"]
        for words in (given, set_, ())
    ]
    assert estimates[0] == estimates[1] != estimates[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "nothing to run: give a command after two dashes, as in `bench run -- python train.py`"),
        (["run", "smoke", "--quick"], "smoke is a suite, not a program: bench suite smoke"),
        (
            ["run", "--quick", "smoke"],
            "`bench run` runs commands, and --quick is for suites: bench suite SUITE --quick; a short test of a "
            "command: bench run --repeats 1 --steps 8",
        ),
        (["run", "./my suite.yaml"], "is a suite, not a program: bench suite './my suite.yaml'"),
        (
            ["run", "train.py", "--lr", "3"],
            "train.py is a script: give the command that starts it: bench run -- python train.py --lr 3",
        ),
        (["run", "./my train.sh", "a b"], "it: bench run -- bash './my train.sh' 'a b'"),
        (["run", "./no_first_line.py"], "no_first_line.py is a script: give the command that starts it"),
        (["run", "./no_first_line"], "./no_first_line has no `#!` line: add one, or give the program that"),
        (
            ["run", "./readable"],
            "./readable is not executable: run `chmod +x ./readable`, or give the program",
        ),
        (
            ["run", "--dry-run", "./sub folder"],
            "./sub folder is a folder: give the program or the script in it",
        ),
        (["run", "--dry-run", "missing.py"], "missing.py is not a file in"),
        (["run", "--dry-run", "./missing"], "./missing is not a file in"),
        (
            ["run", "torchrun", "--nproc_per_node=2", "my train.py"],
            "give bench the script: `bench run --world 2 -- python 'my train.py'`",
        ),
        (
            ["run", "--resume", "s", "--", "python", "train.py"],
            "the session s and the command python are both given",
        ),
        (["run", "--resume", "s", "--steps", "3", "--cwd", "."], "--cwd, --steps: a resumed session keeps"),
        (["run", "--dry-run", "--", "python", "missing.py"], "case command: missing.py is not a file in"),
        (["run", "--dry-run", "--", "no-such-program"], "no-such-program is not on PATH"),
        (
            ["run", "--env", "RANK=1", "--", "python", "train.py"],
            "--env RANK=1: 'RANK' cannot be set, because bench sets",
        ),
        (
            ["run", "--env", "OMP_NUM_THREADS=1", "--", "python", "train.py"],
            "--env OMP_NUM_THREADS=1: the threads of a rank",
        ),
        (["suite"], "nothing to run: name a suite, as in `bench suite smoke`, or a session with --resume"),
        (["suite", "train.py"], "`bench suite` runs suites, not commands: bench run -- python train.py"),
        (
            ["suite", "--quick", "--", "python", "a b.py"],
            "`bench suite` runs suites, not commands: bench run -- python 'a b.py'",
        ),
        (
            ["suite", "python", "train.py", "--lr", "3"],
            "`bench suite` runs suites, not commands: bench run -- python train.py --lr 3",
        ),
        (["suite", "--resume", "s", "--steps", "3"], "--steps: a resumed session keeps its plan"),
    ],
)
def test_a_call_that_cannot_be_meant_says_what_to_give(words: list[str], said: str, folder: Path) -> None:
    done = call(*words)
    assert said in str(done.exception)
    assert getattr(done.exception, "exit_code", None) == 2
    assert not (folder / "results").exists()


@pytest.mark.parametrize(
    ("began", "strategies", "resumes"),
    [
        (["bench", "suite", "smoke"], ["ddp"], "suite"),
        (["bench", "suite", "commands.yaml"], ["command"], "suite"),
        (["/opt/bench", "run", "--", "python", "train.py"], ["command"], "run"),
        (["bench", "run", "--", "python", "train.py"], ["script"], "run"),
        (["bench", "run", "smoke"], ["ddp", "command"], "suite"),
    ],
    ids=["suite", "suite of commands", "command", "older command", "older suite"],
)
def test_a_session_is_resumed_by_the_command_for_its_kind(
    folder: Path, began: list[str], strategies: list[str], resumes: str
) -> None:
    cases = [Case(name=f"case{n}", strategy=name, step_ms={1: 4.0}) for n, name in enumerate(strategies)]
    session = SessionFolder(folder / "results", make_session(folder / "results", cases, session_id="s").name)
    session.update(command=["bench", resumes, "--resume", "s"], begun=[{"command": began}])
    other = {"run": "suite", "suite": "run"}[resumes]
    done = call(other, "--resume", "@latest")
    kind = {"run": "a command", "suite": "a suite"}[resumes]
    assert str(done.exception) == f"session s is of {kind}: `bench {resumes} --resume s` continues it"
    assert getattr(done.exception, "exit_code", None) == 2
