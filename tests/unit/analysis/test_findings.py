"""What was found, on a terminal and in JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from analysis import database, findings, summary
from analysis.load import load
from bench.cli.summary import command
from tests.factory import Case, make_session

SLOWER = {1: [10.0, 10.1, 10.2], 2: [15.0, 15.1, 15.2], 4: [14.0, 14.1, 14.2]}
SCALES = {1: [10.0, 10.1, 10.2], 2: [5.0, 5.05, 5.1]}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    crowded = Case(name="c", step_ms={1: 10.0, 4: 9.0}, oversubscribed=frozenset({4}))
    cases = [Case(name="a", step_ms=SLOWER), Case(name="b", step_ms=SLOWER), crowded]
    make_session(folder, cases, session_id="slow")
    make_session(folder, [Case(name="[red]a", step_ms=SLOWER)], session_id="odd's")
    make_session(folder, [Case(name="a", step_ms=SCALES, steps=40)], session_id="fine")
    load(folder)
    return folder


def found(results: Path, session_id: str) -> list[findings.Row]:
    with database.reader(results) as connection:
        rows = findings.read(connection, session_id)
    return [row for row in rows if row["finding"] in ("negative_scaling", "oversubscribed")]


def test_the_gravest_come_first_and_one_that_several_cases_have_comes_once(results):
    shown = list(findings.lines(found(results, "slow"), Path("results")))
    assert shown[0] == "What to change"
    assert shown[1].startswith("  critical: Slower on more workers (")
    assert " and 1 other case): " in shown[1]
    (crowded,) = [line for line in shown if "More ranks than slots" in line]
    assert crowded == (
        "  warning: More ranks than slots (c 1x4): c ran with 4 ranks, more than the machine has slots for"
    )
    assert shown[shown.index(crowded) + 1] == "    try: bench suite smoke --world 2"
    assert shown[-1] == (
        "3 findings with advice: the report, or bench sql \"FROM diagnosis WHERE session_id = 'slow'\""
    )


def test_the_question_names_the_results_folder_and_no_name_that_a_shell_would_read(results):
    *_, last = findings.lines(found(results, "odd's"), Path("my results"))
    assert last.endswith("bench sql \"FROM diagnosis\" --results 'my results'")


def test_no_more_than_three_are_shown(results):
    row = found(results, "slow")[0]
    many = [row | {"finding": f"f{number}", "severity": "warning"} for number in range(5)]
    assert len(findings.gravest(many)) == 3
    assert findings.gravest([row | {"severity": "notice"}]) == []


def test_nothing_is_said_where_nothing_was_found(results):
    assert found(results, "fine") == []
    assert list(findings.lines([], results)) == []


def test_the_summary_says_them_before_its_closing_sentence_and_a_name_is_no_markup(results):
    out = Console(width=1_000, color_system=None, force_terminal=False)
    with out.capture() as captured:
        summary.show(results, "odd's", out=out)
    lines = captured.get().splitlines()
    place = lines.index("What to change")
    assert "([red]a 1x" in lines[place + 1]
    assert place < len(lines) - 2


def test_json_has_every_finding_with_the_command_that_tries_its_remedy(results):
    rows = summary.answer(results, "slow")["diagnosis"]
    assert [row["finding_order"] for row in rows] == list(range(1, len(rows) + 1))
    (crowded,) = [row for row in rows if row["finding"] == "oversubscribed"]
    assert (crowded["knob"], crowded["command"]) == ("--world 2", "bench suite smoke --world 2")


def test_a_narrow_terminal_cuts_nothing_off(results, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = CliRunner().invoke(command, ["slow", "--results", str(results)])
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "more than the machine has slots for" in " ".join(done.stdout.split())
