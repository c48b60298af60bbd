"""Loading: once, again, after a resume, after a loss."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from analysis.database import connections, schema
from analysis.errors import AnalysisError
from analysis.loading.load import LoadReport, load
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import ask

CASE = Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=2)
ODD_NAMES = {"a[1]", "b*", "what?", "it's", "[[x]]", "ünï", "*", "a1"}
BEGUN = [["bench", "suite", "x", "--quick"], ["bench", "suite", "--resume", "s"]]
TABLES = (*schema.session_tables(), "loaded_files")


class Loaded(NamedTuple):
    """A results folder, and what its last load reported."""

    results: Path
    report: LoadReport


@pytest.fixture(scope="module")
def one(tmp_path_factory, empty) -> Loaded:
    """One session, in a folder with an odd name."""
    results = Path(shutil.copytree(empty, tmp_path_factory.mktemp("one") / "[[r]]*[a-z] it's ünï"))
    facts = {"0": {"torch": "2.15.0"}, "1": {"torch": "2.14.0"}}
    make_session(results, [CASE], session_id="a", tags=["paper", "h200"], environment=facts)
    return Loaded(results, load(results))


@pytest.fixture(scope="module")
def many(tmp_path_factory, one) -> Loaded:
    """The same with eleven other sessions, which a second load found."""
    results = Path(shutil.copytree(one.results, tmp_path_factory.mktemp("many") / one.results.name))
    for name in ODD_NAMES:
        make_session(results, [CASE], session_id=name)
    make_session(results, [replace(CASE, statuses={(2, 1): "failed"})], session_id="failed")
    resumed = make_session(results, [CASE], session_id="resumed")
    change(resumed / "session.json", command=BEGUN[1], begun=[{"command": command} for command in BEGUN])
    running = make_session(results, [CASE], session_id="running")
    change(running / "session.json", finished_at=None)
    (running / "ddp.1x2.r1" / "run.json").unlink()
    return Loaded(results, load(results))


@pytest.fixture(scope="module")
def changed(tmp_path_factory, many) -> Loaded:
    """The same after two sessions changed: one was resumed, of the other a file, whose size stays the same."""
    results = Path(shutil.copytree(many.results, tmp_path_factory.mktemp("changed") / many.results.name))
    shutil.rmtree(results / "failed")
    make_session(results, [replace(CASE, attempts={(2, 1): 1})], session_id="failed")
    run = results / "a" / "ddp.1x1.r0" / "run.json"
    change(run, outcome=json.loads(run.read_text())["outcome"] | {"elapsed_s": 7.048})
    os.utime(run, ns=(1, 1))
    return Loaded(results, load(results))


@pytest.fixture
def a_copy(many, tmp_path) -> Path:
    return Path(shutil.copytree(many.results, tmp_path / many.results.name))


def change(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values, indent=1))


def _content(results):
    """Every row of every table, in a fixed order."""
    with connections.reader(results) as connection:
        return {table: sorted(map(str, connection.execute(f"FROM {table}").fetchall())) for table in TABLES}


def step_rows(results):
    found = ask(results, "SELECT session_id, count(*) AS n FROM steps GROUP BY session_id")
    return {row["session_id"]: row["n"] for row in found}


def test_a_load_tells_what_it_loaded(one):
    report = one.report
    # Two ranks' worth of rows at n = 2: (1 + 2) ranks x 2 repeats x 12 steps.
    assert (report.sessions, report.runs, report.step_rows) == (1, 4, 72)
    assert (report.unchanged_sessions, report.removed_sessions, report.problems) == (0, 0, ())
    assert str(report) == f"1 session, 4 runs, 72 step rows loaded into {one.results / 'results.duckdb'}"


def test_loading_again_changes_nothing(many, a_copy):
    """A session that is still running is as unchanged as the others."""
    report = load(a_copy)
    assert (report.sessions, report.step_rows, report.unchanged_sessions) == (0, 0, 12)
    assert _content(a_copy) == _content(many.results)


def test_other_sessions_are_loaded_beside_the_first(one, many):
    assert (many.report.sessions, many.report.runs, many.report.unchanged_sessions) == (11, 43, 1)
    assert step_rows(one.results) == {"a": 72}
    assert step_rows(many.results)["a"] == 72


def test_a_deleted_database_comes_back_the_same(many, a_copy):
    (a_copy / "results.duckdb").unlink()
    load(a_copy)
    assert _content(a_copy) == _content(many.results)


def test_a_resumed_session_replaces_its_rows(many, changed):
    run = "FROM run_summary WHERE session_id = 'failed' AND run_id = 'ddp.1x2.r1'"
    assert ask(many.results, f"SELECT attempt, status {run}") == [{"attempt": 0, "status": "failed"}]
    assert ask(changed.results, f"SELECT attempt, status {run}") == [{"attempt": 1, "status": "ok"}]
    assert (changed.report.sessions, changed.report.unchanged_sessions) == (2, 10)
    rows = ask(
        changed.results, f"SELECT attempt, status {run.replace('run_summary', 'runs')} ORDER BY attempt"
    )
    assert rows == [{"attempt": 0, "status": "failed"}, {"attempt": 1, "status": "ok"}]
    assert ask(changed.results, "SELECT count(*) AS n FROM sessions") == [{"n": 12}]


def test_a_session_whose_folder_is_gone_leaves_the_database(many, a_copy):
    shutil.rmtree(a_copy / "what?")
    report = load(a_copy)
    assert (report.removed_sessions, report.unchanged_sessions) == (1, 11)
    assert step_rows(a_copy).keys() == step_rows(many.results).keys() - {"what?"}


def test_a_touched_file_is_loaded_again(changed):
    run = "FROM runs WHERE session_id = 'a' AND run_id = 'ddp.1x1.r0'"
    assert ask(changed.results, f"SELECT elapsed_s {run}") == [{"elapsed_s": 7.048}]


def test_any_folder_name_will_do(many):
    assert many.report.problems == ()
    found = step_rows(many.results)
    assert {name: found[name] for name in ODD_NAMES} == dict.fromkeys(ODD_NAMES, 72)


def test_a_question_mark_in_the_way_to_the_database_is_named(tmp_path):
    (tmp_path / "what?").mkdir()
    with pytest.raises(AnalysisError, match="question mark in its name: rename it"):
        load(tmp_path / "what?")


def test_what_session_json_says_is_in_the_database(one):
    (session,) = ask(one.results, "FROM sessions")
    assert (session["tags"], session["command"]) == (["paper", "h200"], ["bench", "suite", "smoke"])
    assert session["created_at"].isoformat() == "2026-11-21T01:49:25"
    assert [case["name"] for case in json.loads(session["resolved"])["cases"]] == ["ddp"]
    assert ask(one.results, "SELECT node, value FROM environment ORDER BY node") == [
        {"node": 0, "value": "2.15.0"},
        {"node": 1, "value": "2.14.0"},
    ]
    assert len(ask(one.results, "FROM planned_runs")) == 4


def test_the_command_of_a_resumed_session_is_the_one_that_began_it(many):
    command = "SELECT command FROM sessions WHERE session_id = 'resumed'"
    assert ask(many.results, command) == [{"command": BEGUN[0]}]


def test_a_session_that_is_still_running_is_loaded_as_far_as_it_is(many):
    assert len(ask(many.results, "FROM runs WHERE session_id = 'running'")) == 3
    assert many.report.problems == ()


def test_other_folders_and_files_are_none_of_our_business(a_copy):
    (a_copy / "notes").mkdir()
    (a_copy / "notes" / "todo.txt").write_text("x")
    (a_copy / "README").write_text("x")
    report = load(a_copy)
    assert (report.sessions, report.unchanged_sessions, report.problems) == (0, 12, ())


def test_a_results_folder_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(AnalysisError, match="there is no such results folder") as caught:
        load(tmp_path / "nowhere")
    assert caught.value.exit_code == 2


def test_an_empty_results_folder_makes_an_empty_database(tmp_path):
    assert load(tmp_path).sessions == 0
    assert ask(tmp_path, "FROM scaling") == []
