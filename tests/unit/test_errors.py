"""Every wrong call of every command is one style of error: where, what happened, what to do; exit code 2."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

import bench.cli

COMMANDS = bench.cli.group.list_commands(click.Context(bench.cli.group))
WRONG_ARGUMENTS = {
    "compare": ["A"],
    "doctor": ["surplus"],
    "export": ["nothing", "--format", "csv"],
    "findings": ["nothing"],
    "history": ["nothing"],
    "import": ["missing.csv", "--suite", "s"],
    "list": ["surplus"],
    "load": ["missing"],
    "losses": ["nothing"],
    "predict": ["smokee"],
    "reference": ["list", "nothing"],
    "report": ["nothing"],
    "run": ["smoke"],
    "schema": ["surplus"],
    "batch": ["smokee", "--image", "bench.sif"],
    "sessions": ["nothing"],
    "show": ["smokee"],
    "slow-ranks": ["nothing"],
    "sql": ["nonsense"],
    "suite": ["smokee"],
    "summary": ["nothing"],
}
STYLE = re.compile(r"error: \S[^\n]*: \S[^\n]*", re.S)


def said(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """The error of a call that writes nothing but the error."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("BENCH_RESULTS", raising=False)
    monkeypatch.setattr("sys.argv", ["bench", *words])
    code = bench.cli.run_command()
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    assert STYLE.match(err), err
    assert list(folder.iterdir()) == []
    return err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_option_names_the_command_and_its_help(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = said([name, "--no-such-option"], tmp_path, monkeypatch, capsys)
    assert found.startswith(f"error: bench {name}: no such option '--no-such-option'")
    assert found.endswith(f"`bench {name} --help` shows what it takes.\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_argument_is_an_error_of_the_same_style(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said([name, *WRONG_ARGUMENTS[name]], tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["summry"], "error: bench: no such command 'summry'; did you mean summary? `bench --help`"),
        (
            ["run", "--repeats", "many"],
            "error: bench run: invalid value for '--repeats': 'many' is not a valid",
        ),
        (["compare"], "error: bench compare: missing argument 'A'."),
        (
            ["reference"],
            "error: bench reference: missing argument '{list|load}'. Choose from: list, load. `bench",
        ),
        (
            ["predict", "train.py"],
            "error: train.py is a script: give the command that starts it: bench predict -- python train.py",
        ),
        (
            ["predict", "smoke", "python", "train.py"],
            "error: bench predict: got unexpected extra arguments (python train.py).",
        ),
        (
            ["predict", "--quick", "--tflops", "3", "--", "python", "train.py"],
            "error: --quick, --tflops: only for a suite: leave it out",
        ),
        (
            ["predict", "--case", "a", "--", "python", "train.py"],
            "error: --case: only for a suite: leave it out",
        ),
    ],
)
def test_what_is_wrong_is_named(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert said(words, tmp_path, monkeypatch, capsys).startswith(message)


def test_a_deleted_current_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    monkeypatch.setattr("sys.argv", ["bench", "show", "smoke"])
    assert bench.cli.run_command() == 2
    assert capsys.readouterr().err == "error: the current folder was deleted: change to another one\n"
