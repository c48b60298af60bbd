"""bench report."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from analysis.report.drawing import theme
from analysis.report.html.files import compare_name
from bench.cli import main
from bench.cli.report import command
from tests.unit.report.conftest import BROKEN, GPUS, SCALING


def test_the_command_prints_the_paths_that_it_wrote(results, tmp_path):
    result = CliRunner().invoke(command, [BROKEN, "--results", str(results), "--out", str(tmp_path)])
    assert result.output.splitlines() == [str(tmp_path / f"{BROKEN}.html"), str(tmp_path / "index.html")]
    assert result.exit_code == 0


def test_an_unknown_session_ends_with_2_and_one_line(results, tmp_path, monkeypatch, capsys):
    said = refusal(["nope"], results, tmp_path / "out", monkeypatch, capsys)
    assert said.startswith("bench: no session 'nope'; the newest are ")


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
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert not out.exists()
    return capsys.readouterr().err


@pytest.mark.parametrize("sessions", [[], [SCALING], [SCALING, SCALING]])
def test_comparing_fewer_than_two_sessions_ends_with_2_and_says_what_to_do(
    results, tmp_path, monkeypatch, capsys, sessions
):
    said = refusal([*sessions, "--compare"], results, tmp_path / "out", monkeypatch, capsys)
    assert said.startswith("bench: --compare needs two different sessions or more")


def test_comparing_more_sessions_than_there_are_colours_ends_with_2_and_writes_nothing(
    results, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(theme, "CATEGORIES", 2)
    sessions = [SCALING, GPUS, BROKEN]
    said = refusal([*sessions, "--compare"], results, tmp_path / "out", monkeypatch, capsys)
    assert said.startswith("bench: --compare takes at most 2 sessions")


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
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "--out" in said
    assert "folder" in said or "directory" in said
    assert list(tmp_path.glob("*.html")) == []
