"""bench sessions: every session with its state and its headline, in 80 columns."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from analysis import history, sessions, summary
from analysis.errors import AnalysisError
from analysis.loading.load import load
from bench.cli import group
from bench.records.session_names import NONE_YET
from bench.session.find_session import find_session
from tests.factory import Case, make_session

LONG = "a-session-with-a-name-that-is-so-long-that-nothing-fits-next-to-it"
ROWS = {
    "first": ({}, [Case(name="ddp", step_ms={1: 10.0, 2: 5.5})]),
    LONG: (
        {"finished_at": None, "command": ["/venv/bin/bench", "run", "--", "python", "a b.py"]},
        [Case(name="ddp", step_ms={1: 10.0, 2: 9.5})],
    ),
    "newest": ({}, [Case(name="ddp", step_ms={1: 10.0}, statuses={(1, 0): "failed"})]),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("sessions")
    for number, (name, (changes, cases)) in enumerate(ROWS.items()):
        path = make_session(folder, cases, session_id=name, suite=f"s{number}") / "session.json"
        head = (
            json.loads(path.read_text()) | {"created_at": f"2026-01-0{number + 1}T10:00:00+00:00"} | changes
        )
        path.write_text(json.dumps(head))
    load(folder)
    return folder


def call(results: Path, *arguments: str) -> Result:
    return CliRunner().invoke(group, ["sessions", "--results", str(results), *arguments])


def test_the_newest_comes_first_with_its_state(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = sessions.read(results)
    assert [row["session_id"] for row in rows] == ["newest", LONG, "first"]
    assert [row["status"] for row in rows] == ["2 of 3 ok", "6 of 6 ok, not finished", "6 of 6 ok"]
    assert "1.82 times as fast" in rows[2]["headline"]
    sessions.show(rows, Console(width=80))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert LONG in lines
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["newest", LONG, "first"]
    assert any(line.startswith("    ddp on 2 ranks is 1.82 times as fast") for line in lines)
    assert [line for line in lines if line.startswith("    bench ")] == ["    bench run -- python 'a b.py'"]


def test_programs_get_json_and_csv(results: Path) -> None:
    found = json.loads(call(results, "--json", "--last", "2").output)
    assert [row["session_id"] for row in found] == ["newest", LONG]
    assert found[1]["finished_at"] is None
    assert found[0]["created_at"] == "2026-01-03T10:00:00"
    table = list(csv.DictReader(call(results, "s0", "--format", "csv").output.splitlines()))
    assert [(row["session_id"], row["ok"], row["tags"]) for row in table] == [("first", "6", "[]")]


def test_a_suite_without_a_session_is_an_error_that_names_those_with_one(results: Path) -> None:
    with pytest.raises(AnalysisError, match="no session of the suite 'other'; there are s2, s1, s0"):
        sessions.read(results, suite="other")


@pytest.mark.parametrize(
    "ask",
    [
        sessions.read,
        lambda results: sessions.read(results, suite="other"),
        lambda results: history.show(results, None, last=1),
        lambda results: history.show(results, "other", last=1),
        summary.show,
        lambda results: summary.show(results, "@latest"),
        lambda results: find_session(results, "@-1"),
        lambda results: find_session(results, "other"),
    ],
)
def test_without_a_session_every_command_says_the_same(empty: Path, ask: Callable[[Path], object]) -> None:
    with pytest.raises(ValueError, match=re.escape(NONE_YET)):
        ask(empty)
