"""bench report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.report.drawing import theme
from analysis.report.html.files import compare_name
from analysis.report.pages import session_data
from bench.cli import run_command
from bench.cli.report import command
from tests.unit.report.conftest import BROKEN, GPUS, SCALING


def test_the_command_prints_the_paths_that_it_wrote(results, tmp_path):
    result = CliRunner().invoke(command, [BROKEN, "--results", str(results), "--out", str(tmp_path)])
    assert result.output.splitlines() == [str(tmp_path / f"{BROKEN}.html"), str(tmp_path / "index.html")]
    assert result.exit_code == 0


def test_an_unknown_session_ends_with_2_and_one_line(results, tmp_path, monkeypatch, capsys):
    said = refusal(["nope"], results, tmp_path / "out", monkeypatch, capsys)
    assert said.startswith("error: no session 'nope'; the newest are ")


def test_compare_prints_the_page_that_compares_and_help_says_which_is_the_baseline(results, tmp_path):
    arguments = [SCALING, BROKEN, "--compare", "--results", str(results), "--out", str(tmp_path)]
    result = CliRunner().invoke(command, arguments)
    names = [f"{SCALING}.html", f"{BROKEN}.html", compare_name([SCALING, BROKEN]), "index.html"]
    assert result.output.splitlines() == [str(tmp_path / name) for name in names]
    shown = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "the first is the baseline" in shown


def refusal(arguments, results, out, monkeypatch, capsys):
    """The error of a command that ends with 2 and writes nothing."""
    monkeypatch.setattr(
        "sys.argv", ["bench", "report", *arguments, "--results", str(results), "--out", str(out)]
    )
    assert run_command() == 2
    assert not out.exists()
    return capsys.readouterr().err


@pytest.mark.parametrize("sessions", [[], [SCALING], [SCALING, SCALING]])
def test_comparing_fewer_than_two_sessions_ends_with_2_and_says_what_to_do(
    results, tmp_path, monkeypatch, capsys, sessions
):
    said = refusal([*sessions, "--compare"], results, tmp_path / "out", monkeypatch, capsys)
    assert said.startswith("error: --compare needs two different sessions or more")


def test_comparing_more_sessions_than_there_are_colours_ends_with_2_and_writes_nothing(
    results, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(theme, "CATEGORIES", 2)
    sessions = [SCALING, GPUS, BROKEN]
    said = refusal([*sessions, "--compare"], results, tmp_path / "out", monkeypatch, capsys)
    assert said.startswith("error: --compare takes at most 2 sessions")


def test_the_most_sessions_that_can_be_compared_are_8_and_have_a_colour_each():
    assert len(set(theme.categories(theme.CATEGORIES))) == theme.CATEGORIES == 8
    with pytest.raises(AssertionError):
        theme.categories(theme.CATEGORIES + 1)


@pytest.mark.parametrize("out", ["", "/proc/x", "/dev/full", "file/sub", "taken"])
def test_a_folder_that_cannot_take_the_pages_is_one_line_and_ends_with_2(
    results, tmp_path, *, monkeypatch, capsys, out
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "index.html").mkdir(parents=True)
    monkeypatch.setattr("sys.argv", ["bench", "report", BROKEN, "--results", str(results), "--out", out])
    assert run_command() == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "--out" in said
    assert "folder" in said or "directory" in said
    assert list(tmp_path.glob("*.html")) == []


def bench(folder, *arguments, **environ):
    """`bench` as a process in `folder`, on a machine without a display."""
    kept = {
        name: text for name, text in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "TERM")
    }
    environment = {**kept, "PATH": str(folder), "PYTHONPATH": str(Path(__file__).parents[3]), **environ}
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_without_out_the_pages_are_in_public_and_without_a_browser_the_path_is_printed(results, tmp_path):
    done = bench(tmp_path, "report", BROKEN, "--open", "--results", str(results))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"public/{BROKEN}.html",
        "public/index.html",
        f"there is no browser here; open {tmp_path}/public/{BROKEN}.html",
    ]


@pytest.mark.parametrize(
    ("sessions", "opened"),
    [([BROKEN], f"{BROKEN}.html"), ([], "index.html"), ([SCALING, BROKEN, "--compare"], "compare-")],
)
def test_the_most_wanted_page_is_opened(results, tmp_path, sessions, opened):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/bash\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    words = ("--open", "--results", str(results))
    done = bench(tmp_path, "report", *sessions, *words, BROWSER=str(browser))
    assert done.returncode == 0, done.stderr
    url = (tmp_path / "opened").read_text().strip()
    assert url.startswith(f"file://{tmp_path}/public/{opened}")
    assert Path(url.removeprefix("file://")).is_file()


def test_a_page_that_cannot_be_made_is_named_and_costs_no_other(results, tmp_path, monkeypatch):
    read = session_data.read

    def fails_for_one(connection, session_id):
        if session_id == BROKEN:
            raise KeyError("no such column")
        return read(connection, session_id)

    monkeypatch.setattr(session_data, "read", fails_for_one)
    words = [BROKEN, SCALING, "--results", str(results), "--out", str(tmp_path)]
    result = CliRunner().invoke(command, words, standalone_mode=False)
    assert result.return_value == 1
    assert [Path(line).name for line in result.stdout.splitlines()] == [f"{SCALING}.html", "index.html"]
    assert (
        f"error: {BROKEN}.html: this page cannot be made: KeyError: 'no such column' (test_" in result.stderr
    )
    assert SCALING in (tmp_path / "index.html").read_text()
    assert not (tmp_path / f"{BROKEN}.html").exists()
