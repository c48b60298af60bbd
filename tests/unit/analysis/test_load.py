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
from bench.records.run_spec import RunSpec, in_present_words, settings_digest
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


def test_what_only_an_earlier_version_stored_is_ignored(tmp_path):
    session = make_session(tmp_path, [CASE], session_id="old")
    run = session / "ddp.1x2.r0"
    stored = json.loads((run / "run.json").read_text())
    spec = stored["spec"] | {
        "data": stored["spec"]["data"] | {"source": "./mine.py:loader", "source_options": {"files": 3}},
        "train": stored["spec"]["train"] | {"optimizer": "./mine.py:make", "unknown": 1},
        "unknown": 1,
    }
    change(run / "run.json", spec=spec, outcome=stored["outcome"] | {"sharding": "loader", "unknown": 1})
    for table in ("named_losses", "pipeline_steps"):
        shutil.copy(run / "steps.node0.parquet", run / f"{table}.node0.parquet")
    report = load(tmp_path)
    assert (report.runs, report.problems) == (4, ())
    assert RunSpec.from_json(spec).train.optimizer == "./mine.py:make"
    query = (
        "SELECT status, config->>'$.data.source_options.files' AS files FROM runs WHERE run_id = 'ddp.1x2.r0'"
    )
    assert ask(tmp_path, query) == [{"status": "ok", "files": "3"}]


def test_keys_and_words_of_an_earlier_version_are_no_other_settings(tmp_path):
    case = Case(name="mesh", strategy="mesh", step_ms={2: 11.0}, repeats=1)
    for session_id in ("old", "new"):
        session = make_session(tmp_path, [case], session_id=session_id)
        (path,) = session.glob("*/run.json")
        stored = json.loads(path.read_text())
        spec = stored["spec"] | {
            "workload": "transformer_lm",
            "workload_options": {"layers": 2},
            "strategy_options": {"tp": 2},
        }
        if session_id == "old":
            spec["data"] = spec["data"] | {"source_options": {}}
            spec["workload_options"] |= {"experts": None, "experts_per_token": 2, "balance": 0.01}
            spec["strategy_options"] |= {
                "pp": 1,
                "ep": 1,
                "cp": 1,
                "schedule": "1f1b",
                "stages_per_rank": None,
                "async_tp": False,
            }
        change(path, spec=spec, fingerprint=stored["fingerprint"] | {"settings": settings_digest(spec)})
    load(tmp_path)
    alike = "SELECT count(DISTINCT fingerprint->>'settings') = 1 AS alike FROM runs"
    assert ask(tmp_path, alike) == [{"alike": True}]
    assert ask(tmp_path, "SELECT settings FROM compare_settings('old', 'new')") == [{"settings": None}]


def test_the_case_of_a_command_has_one_name_in_sessions_of_every_version(tmp_path):
    options = {"command": ["python", "train.py"], "script": None}
    for session_id, word in (("old", "script"), ("new", "command")):
        cases = [
            Case(name=name, workload="command", options=options, strategy=word, step_ms={1: 4.0}, repeats=2)
            for name in (word, f"{word}~threads=2")
        ]
        other = Case(name="script~2", step_ms={1: 4.0}, repeats=2)
        make_session(tmp_path, [*cases, other], session_id=session_id)
    assert load(tmp_path).problems == ()
    wanted = {"names": ["command", "command~threads=2", "script~2"]}
    for table in ("runs", "planned_runs", "scaling"):
        query = f"SELECT list_sort(list(DISTINCT case_name)) AS names FROM {table} GROUP BY session_id"
        assert ask(tmp_path, query) == [wanted, wanted], table
    query = "SELECT count(*) AS compared FROM compare('old', 'new') WHERE case_name = 'command'"
    assert ask(tmp_path, query) == [{"compared": 1}]


def test_an_option_that_is_gone_still_tells_settings_apart():
    old = {"strategy": "mesh", "strategy_options": {"pp": 2, "cp": 1}, "data": {"source_options": {}}}
    assert in_present_words(old) == {"strategy": "mesh", "strategy_options": {"pp": 2}, "data": {}}
    assert in_present_words({"strategy": "script"}) == {"strategy": "command"}


def test_a_results_folder_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(AnalysisError, match="there is no such results folder") as caught:
        load(tmp_path / "nowhere")
    assert caught.value.exit_code == 2


def test_an_empty_results_folder_makes_an_empty_database(tmp_path):
    assert load(tmp_path).sessions == 0
    assert ask(tmp_path, "FROM scaling") == []
