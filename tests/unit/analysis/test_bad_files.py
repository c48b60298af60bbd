"""A bad file is named with a remedy and left out; everything else is loaded."""

from __future__ import annotations

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.database import schema
from analysis.loading.load import load
from tests.factory import Case, make_session, write_json
from tests.unit.analysis.conftest import ask, named

CASE = Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=2)
STEPS = "ddp.1x2.r0/steps.node0.parquet"
RUN = "ddp.1x2.r0/run.json"


@pytest.fixture
def folder(results):
    return make_session(results, [CASE], session_id="bad")


@pytest.fixture
def good(results):
    """Another session, which no problem of the bad one may touch."""
    make_session(results, [Case(name="ddp", step_ms={1: 4.0}, repeats=1)], session_id="good")
    return lambda: ask(results, "SELECT count(*) AS n FROM steps WHERE session_id = 'good'") == [{"n": 12}]


def _only_problem(results):
    """The one that a load names."""
    (problem,) = load(results).problems
    return problem


def _count(results, table="steps"):
    return ask(results, f"SELECT count(*) AS n FROM {table} WHERE session_id = 'bad'")[0]["n"]


def _change(path, **values):
    content = json.loads(path.read_text())
    write_json(path, content | values)


def test_a_truncated_parquet_is_named_and_left_out(results, folder):
    (folder / STEPS).write_bytes((folder / STEPS).read_bytes()[:1000])
    problem = _only_problem(results)
    assert problem.path == f"bad/{STEPS}"
    assert "not a complete Parquet file" in problem.reason
    assert (_count(results), _count(results, "runs")) == (72 - 24, 4)


def test_a_bad_file_is_named_by_every_load(results, folder):
    (folder / STEPS).write_bytes(b"")
    first, second = load(results), load(results)
    assert first.problems == second.problems != ()
    assert second.unchanged_sessions == 1


def test_a_parquet_with_a_broken_page_and_a_whole_footer_is_named_and_left_out(results, folder, good):
    raw = bytearray((folder / STEPS).read_bytes())
    raw[4:400] = b"\xff" * 396
    (folder / STEPS).write_bytes(raw)
    problem = _only_problem(results)
    assert problem.path == f"bad/{STEPS}"
    assert "its rows cannot be read" in problem.reason
    assert _count(results) == 72 - 24
    assert good()


def test_a_foreign_parquet_is_named_and_left_out(results, folder):
    pq.write_table(pa.table({"x": [1]}), folder / STEPS)
    assert "not written by scalebench" in _only_problem(results).reason
    assert _count(results) == 72 - 24


def test_a_parquet_of_a_name_that_is_not_ours_isnamed(results, folder):
    pq.write_table(pa.table({"x": [1]}), folder / "ddp.1x2.r0" / "notes.parquet")
    problem = _only_problem(results)
    assert problem.path == "bad/ddp.1x2.r0/notes.parquet"
    assert "its name is not that of a table" in problem.reason
    assert _count(results) == 72


def _rewrite(path, change):
    table = pq.read_table(path)
    metadata = table.schema.metadata
    changed = change(table)
    pq.write_table(changed.replace_schema_metadata({**metadata, **(changed.schema.metadata or {})}), path)


def test_a_parquet_of_a_newer_version_is_named_and_left_out(results, folder):
    _rewrite(folder / STEPS, lambda t: t.replace_schema_metadata({"schema_version": "2"}))
    assert "newer scalebench (schema 2" in named(results).reason


def test_a_parquet_without_a_column_is_named_and_left_out(results, folder):
    _rewrite(folder / STEPS, lambda t: t.drop_columns(["loss"]))
    assert "has no column loss" in named(results).reason


def test_a_parquet_with_a_column_of_another_type_is_named_and_left_out(results, folder):
    texts = pa.array(["x"] * 24)
    _rewrite(folder / STEPS, lambda t: t.set_column(t.schema.get_field_index("step_ns"), "step_ns", texts))
    assert "column step_ns is string" in named(results).reason


@pytest.mark.parametrize("name", ["step_ns", "STEP_NS"])
def test_a_parquet_with_a_column_twice_is_named_and_left_out(results, folder, name):
    _rewrite(folder / STEPS, lambda t: t.append_column(name, t.column("loss")))
    assert "has column step_ns more than once" in named(results).reason


def test_a_parquet_that_was_moved_to_another_run_is_named_and_left_out(results, folder):
    shutil.copy(folder / "ddp.1x1.r0" / "steps.node0.parquet", folder / STEPS)
    problem = named(results)
    assert problem.path == f"bad/{STEPS}"
    assert "its run_id is 'ddp.1x1.r0' but it is in the folder of 'ddp.1x2.r0'" in problem.reason


def test_a_renamed_run_folder_is_named_and_left_out(results, folder):
    (folder / "ddp.1x2.r0").rename(folder / "mine")
    problem = _only_problem(results)
    assert problem.path == "bad/mine/run.json"
    assert "run_id is 'ddp.1x2.r0' but its folder is 'mine'" in problem.reason
    assert (_count(results), _count(results, "runs")) == (48, 3)


def test_a_renamed_session_folder_is_named_and_left_out(results, folder, good):
    folder.rename(results / "renamed")
    problem = _only_problem(results)
    assert problem.path == "renamed/session.json"
    assert "session_id is 'bad' but its folder is 'renamed'" in problem.reason
    assert {row["session_id"] for row in ask(results, "FROM runs")} == {"good"}
    assert good()


def test_a_session_of_a_newer_version_is_named_and_left_out(results, folder, good):
    _change(folder / "session.json", schema_version=2)
    assert "newer scalebench (schema 2; this one reads up to 1): upgrade" in _only_problem(results).reason
    assert _count(results) == 0
    assert good()


def test_a_run_of_a_newer_version_is_named_and_left_out(results, folder):
    _change(folder / RUN, schema_version=2)
    problem = _only_problem(results)
    assert (problem.path, _count(results)) == (f"bad/{RUN}", 48)


def test_an_attempt_in_the_wrong_folder_is_named_and_left_out(results, folder):
    shutil.copytree(folder / "ddp.1x1.r0", folder / "ddp.1x1.r0" / "attempt3")
    problem = named(results)
    assert problem.path == "bad/ddp.1x1.r0/attempt3/run.json"
    assert "attempt is 0 but its folder is 'attempt3'" in problem.reason


def test_the_same_attempt_twice_is_named_and_loaded_once(results, folder):
    shutil.copytree(folder / "ddp.1x1.r0", folder / "ddp.1x1.r0" / "attempt0")
    assert "attempt 0 of this run is there twice" in _only_problem(results).reason
    assert _count(results) == 72


def test_runs_without_a_session_json_are_named_and_left_out(results, folder, good):
    (folder / "session.json").unlink()
    problem = _only_problem(results)
    assert (problem.path, problem.reason.split(":")[0]) == ("bad", "has runs but no session.json")
    assert _count(results, "runs") == 0
    assert good()


def test_rows_that_are_not_parquet_yet_are_named_and_the_run_is_loaded(results, folder):
    outcome = json.loads((folder / RUN).read_text())["outcome"]
    _change(folder / RUN, outcome=outcome | {"finalised": False})
    assert "not Parquet yet" in _only_problem(results).reason
    assert _count(results, "runs") == 4


def test_a_run_of_which_a_file_is_gone_is_named_and_the_others_are_loaded(results, folder):
    (folder / STEPS).unlink()
    problem = _only_problem(results)
    assert problem.path == f"bad/{RUN}"
    assert problem.reason.startswith(
        "24 of its 24 step rows are missing: a steps.nodeN.parquet is gone or was changed: put it back;"
    )
    assert (_count(results), _count(results, "runs")) == (72 - 24, 4)
    assert load(results).problems == (problem,)


def test_a_link_that_leads_outside_is_refused(results, folder, tmp_path):
    outside = tmp_path / "outside.parquet"
    (folder / STEPS).rename(outside)
    (folder / STEPS).symlink_to(outside)
    problem = _only_problem(results)
    assert (problem.path, "leads outside" in problem.reason) == (f"bad/{STEPS}", True)
    assert _count(results) == 48


@pytest.mark.parametrize("name", ["session.json", RUN, STEPS, "ddp.1x2.r0/attempt0"])
def test_a_link_to_itself_is_named_and_loses_nothing_else(results, folder, good, name):
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to((folder / name).name)
    problems = {problem.path: problem.reason for problem in load(results).problems}
    if not name.endswith("attempt0"):  # a folder that cannot be entered is none
        assert problems[f"bad/{name}"] == "a link that leads to itself: remove it"
    assert good()


def test_a_small_file_that_would_grow_without_end_is_named_and_left_out(results, folder):
    table = pq.read_table(folder / STEPS).slice(0, 1)
    many = pa.concat_tables([table] * 1_000).combine_chunks()
    many = pa.concat_tables([many] * 1_000).combine_chunks()
    with pq.ParquetWriter(folder / STEPS, many.schema, compression="zstd") as writer:
        for _ in range(3):
            writer.write_table(many)
    problem = named(results)
    assert (problem.path, problem.reason.split(" in ")[0]) == (f"bad/{STEPS}", "declares 3,000,000 rows")


def test_a_text_that_would_fill_the_memory_is_named_and_left_out(results, folder):
    long = pa.array(["x" * 5_000_000])
    place = pq.read_schema(folder / STEPS).get_field_index("kind")
    _rewrite(
        folder / STEPS,
        lambda t: t.set_column(
            place, "kind", pa.DictionaryArray.from_arrays(pa.array([0] * t.num_rows, pa.int32()), long)
        ),
    )
    assert (folder / STEPS).stat().st_size < 500_000
    assert "column kind holds 5,0" in named(results).reason


def test_a_session_folder_that_is_a_link_to_elsewhere_is_refused(results, folder, good, tmp_path):
    folder.rename(tmp_path / "bad")
    folder.symlink_to(tmp_path / "bad")
    problem = _only_problem(results)
    assert (problem.path, "leads outside" in problem.reason) == ("bad", True)
    assert good()


def test_a_pipe_in_place_of_a_file_does_not_hang_the_load(results, folder):
    (folder / RUN).unlink()
    os.mkfifo(folder / RUN)
    assert [problem.reason for problem in load(results).problems] == [
        "has no run.json: its agent was killed before the end; resume the session",
        "not a regular file: remove it",
    ]


def test_a_session_that_nothing_can_be_derived_from_is_named_and_left_out(results, folder, good, monkeypatch):
    text = schema.text

    def failing_for_one(name: str) -> str:
        fails = "CASE WHEN session_id = 'bad' THEN session_id::INTEGER END IS NULL"
        return f"SELECT * FROM ({text(name)}) WHERE {fails}" if name == "coverage" else text(name)

    monkeypatch.setattr(schema, "text", failing_for_one)
    report = load(results)
    (problem,) = report.problems
    assert problem.path == "bad/session.json"
    assert problem.reason.startswith("nothing can be derived from its rows (Conversion Error: ")
    assert [row["session_id"] for row in ask(results, "FROM sessions")] == ["good"]
    assert good()
    assert load(results).problems == (problem,)
