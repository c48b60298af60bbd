"""Loading: once, again, after a resume, after a loss."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from analysis.database import connections, schema
from analysis.errors import AnalysisError
from analysis.loading.load import load
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import ask

CASE = Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=2)
TABLES = (*schema.session_tables(), "loaded_files")


def _content(results):
    """Every row of every table, in a fixed order."""
    with connections.reader(results) as connection:
        return {table: sorted(map(str, connection.execute(f"FROM {table}").fetchall())) for table in TABLES}


def test_a_load_tells_what_it_loaded(results):
    make_session(results, [CASE])
    report = load(results)
    # Two ranks' worth of rows at n = 2: (1 + 2) ranks x 2 repeats x 12 steps.
    assert (report.sessions, report.runs, report.step_rows) == (1, 4, 72)
    assert (report.unchanged_sessions, report.removed_sessions, report.problems) == (0, 0, ())
    assert str(report) == f"1 session, 4 runs, 72 step rows loaded into {results / 'results.duckdb'}"


def test_loading_again_changes_nothing(results):
    make_session(results, [CASE])
    load(results)
    before = _content(results)
    report = load(results)
    assert (report.sessions, report.step_rows, report.unchanged_sessions) == (0, 0, 1)
    assert _content(results) == before
    assert len(before["steps"]) == 72


def test_a_second_session_is_loaded_beside_the_first(results):
    make_session(results, [CASE], session_id="a")
    load(results)
    make_session(results, [CASE], session_id="b")
    report = load(results)
    assert (report.sessions, report.unchanged_sessions) == (1, 1)
    assert [row["n"] for row in ask(results, "SELECT count(*) AS n FROM steps GROUP BY session_id")] == [
        72,
        72,
    ]


def test_a_deleted_database_comes_back_the_same(results):
    make_session(results, [CASE], session_id="a", tags=["x"])
    load(results)
    make_session(results, [CASE], session_id="b")
    load(results)
    before = _content(results)
    (results / "results.duckdb").unlink()
    load(results)
    assert _content(results) == before


def test_a_resumed_session_replaces_its_rows(results):
    failed = {(2, 1): "failed"}
    folder = make_session(results, [Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=2, statuses=failed)])
    load(results)
    assert ask(results, "SELECT status FROM run_summary WHERE run_id = 'ddp.1x2.r1'") == [
        {"status": "failed"}
    ]
    shutil.rmtree(folder)
    resumed = Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=2, attempts={(2, 1): 1})
    make_session(results, [resumed])
    assert load(results).sessions == 1
    rows = ask(results, "SELECT attempt, status FROM runs WHERE run_id = 'ddp.1x2.r1' ORDER BY attempt")
    assert rows == [{"attempt": 0, "status": "failed"}, {"attempt": 1, "status": "ok"}]
    assert ask(results, "SELECT attempt, status FROM run_summary WHERE run_id = 'ddp.1x2.r1'") == [rows[1]]
    assert ask(results, "SELECT count(*) AS n FROM sessions") == [{"n": 1}]


def test_a_session_whose_folder_is_gone_leaves_the_database(results):
    make_session(results, [CASE], session_id="a")
    folder = make_session(results, [CASE], session_id="b")
    load(results)
    shutil.rmtree(folder)
    report = load(results)
    assert (report.removed_sessions, report.unchanged_sessions) == (1, 1)
    assert {row["session_id"] for row in ask(results, "FROM steps")} == {"a"}


def test_a_touched_file_is_loaded_again(results):
    folder = make_session(results, [CASE])
    load(results)
    run = folder / "ddp.1x1.r0" / "run.json"
    value = json.loads(run.read_text())
    value["outcome"]["elapsed_s"] = 77.0
    run.write_text(json.dumps(value, indent=1))
    os.utime(run, ns=(1, 1))
    load(results)
    assert ask(results, "SELECT elapsed_s FROM runs WHERE run_id = 'ddp.1x1.r0'") == [{"elapsed_s": 77.0}]


def test_any_folder_name_will_do(tmp_path):
    results = tmp_path / "[[r]]*[a-z] it's ünï"
    names = {"a[1]", "b*", "what?", "it's", "[[x]]", "ünï", "*", "a1"}
    for name in names:
        make_session(results, [CASE], session_id=name)
    assert load(results).problems == ()
    found = ask(results, "SELECT session_id, count(*) AS n FROM steps GROUP BY session_id")
    assert {row["session_id"]: row["n"] for row in found} == dict.fromkeys(names, 72)


def test_a_question_mark_in_the_way_to_the_database_is_named(tmp_path):
    (tmp_path / "what?").mkdir()
    with pytest.raises(AnalysisError, match="question mark in its name: rename it"):
        load(tmp_path / "what?")


def test_what_session_json_says_is_in_the_database(results):
    facts = {"0": {"torch": "2.15.0"}, "1": {"torch": "2.14.0"}}
    make_session(results, [CASE], tags=["paper", "h200"], environment=facts)
    load(results)
    (session,) = ask(results, "FROM sessions")
    assert (session["tags"], session["command"]) == (["paper", "h200"], ["bench", "suite", "smoke"])
    assert session["created_at"].isoformat() == "2026-11-21T01:49:25"
    assert [case["name"] for case in json.loads(session["resolved"])["cases"]] == ["ddp"]
    assert ask(results, "SELECT node, value FROM environment ORDER BY node") == [
        {"node": 0, "value": "2.15.0"},
        {"node": 1, "value": "2.14.0"},
    ]
    assert len(ask(results, "FROM planned_runs")) == 4


def test_the_command_of_a_resumed_session_is_the_one_that_began_it(results):
    path = make_session(results, [CASE]) / "session.json"
    head = json.loads(path.read_text())
    before = [
        {"command": ["bench", "suite", "x", "--quick"]},
        {"command": ["bench", "suite", "--resume", "s"]},
    ]
    path.write_text(json.dumps(head | {"command": ["bench", "suite", "--resume", "s"], "begun": before}))
    load(results)
    assert ask(results, "SELECT command FROM sessions") == [{"command": ["bench", "suite", "x", "--quick"]}]


def test_a_session_that_is_still_running_is_loaded_as_far_as_it_is(results):
    folder = make_session(results, [CASE])
    (folder / "ddp.1x2.r1" / "run.json").unlink()
    session = json.loads((folder / "session.json").read_text())
    session["finished_at"] = None
    (folder / "session.json").write_text(json.dumps(session))
    report = load(results)
    assert (report.runs, report.problems) == (3, ())
    assert load(results).unchanged_sessions == 1


def test_other_folders_and_files_are_none_of_our_business(results):
    make_session(results, [CASE])
    (results / "notes").mkdir()
    (results / "notes" / "todo.txt").write_text("x")
    (results / "README").write_text("x")
    assert (load(results).sessions, load(results).problems) == (1, ())


def test_a_results_folder_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(AnalysisError, match="there is no such results folder") as caught:
        load(tmp_path / "nowhere")
    assert caught.value.exit_code == 2


def test_an_empty_results_folder_makes_an_empty_database(tmp_path):
    assert load(tmp_path).sessions == 0
    assert ask(tmp_path, "FROM scaling") == []
