"""bench report."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from bench.cli import main
from bench.cli.report import command
from tests.unit.report.conftest import BROKEN


def test_the_command_prints_the_paths_that_it_wrote(results, pages, tmp_path):
    result = CliRunner().invoke(command, [BROKEN, "--results", str(results), "--out", str(tmp_path)])
    assert result.output.splitlines() == [str(tmp_path / f"{BROKEN}.html"), str(tmp_path / "index.html")]
    assert result.exit_code == 0


def test_an_unknown_session_ends_with_2_and_one_line(results, tmp_path, monkeypatch, capsys):
    arguments = ["bench", "report", "nope", "--results", str(results), "--out", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("bench: no session 'nope'")
