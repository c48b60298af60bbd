"""A bad file is named with a remedy and left out; everything else is loaded. Put back, it is loaded too."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.database import connections, schema
from analysis.loading.load import load
from tests.factory import Case, make_session, write_json
from tests.unit.analysis.conftest import ask

CASE = Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=1)
STEPS = "ddp.1x2.r0/steps.node0.parquet"
OTHER_STEPS = "ddp.1x1.r0/steps.node0.parquet"
RUN = "ddp.1x2.r0/run.json"
WHOLE = (36, 2)
WITHOUT_STEPS = (12, 2)
WITHOUT_RUN = (12, 1)
NOTHING = (0, 0)


def _cut(end):
    return lambda folder: (folder / STEPS).write_bytes((folder / STEPS).read_bytes()[:end])


def _flip(place):
    """Flip one bit; a negative place counts from the file's end."""

    def damage(folder):
        raw = bytearray((folder / STEPS).read_bytes())
        raw[place] ^= 1
        (folder / STEPS).write_bytes(raw)

    return damage


def _rewrite(change):
    def damage(folder):
        table = pq.read_table(folder / STEPS)
        changed = change(table)
        metadata = {**table.schema.metadata, **(changed.schema.metadata or {})}
        pq.write_table(changed.replace_schema_metadata(metadata), folder / STEPS)

    return damage


def _set_json(name, **values):
    return lambda folder: write_json(folder / name, json.loads((folder / name).read_text()) | values)


def _older(folder):
    """Keys and a table that this version does not know."""
    for name in ("session.json", RUN):
        _set_json(name, unknown={"a": [1]})(folder)
    run = json.loads((folder / RUN).read_text())
    for part in ("spec", "outcome"):
        _set_json(RUN, **{part: run[part] | {"unknown": 1}})(folder)
    shutil.copy(folder / STEPS, folder / "ddp.1x2.r0/profile_replays.node0.parquet")


def _not_finalised(folder):
    outcome = json.loads((folder / RUN).read_text())["outcome"]
    _set_json(RUN, outcome=outcome | {"finalised": False})(folder)


def _with_raw_rows(folder):
    _not_finalised(folder)
    (folder / RUN).with_name("steps.rank0.raw").touch()


def _swap(folder):
    (folder / STEPS).rename(folder / "aside")
    (folder / OTHER_STEPS).rename(folder / STEPS)
    (folder / "aside").rename(folder / OTHER_STEPS)


def _lead_outside(name):
    def damage(folder):
        outside = folder.parents[1] / "outside" / folder.name
        outside.parent.mkdir(exist_ok=True)
        (folder / name).rename(outside)
        (folder / name).symlink_to(outside)

    return damage


def _lead_to_itself(name):
    def damage(folder):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to((folder / name).name)

    return damage


def _lead_to_a_device(name):
    def damage(folder):
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")

    return damage


def _pipe_for(name):
    def damage(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return damage


def _grow(folder):
    """A small file that would grow without end."""
    table = pq.read_table(folder / STEPS).slice(0, 1)
    many = pa.concat_tables([table] * 1_000).combine_chunks()
    many = pa.concat_tables([many] * 1_000).combine_chunks()
    with pq.ParquetWriter(folder / STEPS, many.schema, compression="zstd") as writer:
        for _ in range(3):
            writer.write_table(many)


def _fill_memory(folder):
    """A text that would fill the memory."""
    long = pa.array(["x" * 5_000_000])
    place = pq.read_schema(folder / STEPS).get_field_index("kind")
    _rewrite(
        lambda t: t.set_column(
            place, "kind", pa.DictionaryArray.from_arrays(pa.array([0] * t.num_rows, pa.int32()), long)
        )
    )(folder)
    assert (folder / STEPS).stat().st_size < 500_000


SELF = "a link that leads to itself: remove it"
OUTSIDE = "a link that leads outside the results folder: copy the files here instead"
NO_SESSION = "has runs but no session.json: "
NO_RUN = "has no run.json: its agent was killed before the end; resume the session"
INCOMPLETE = {STEPS: "not a complete Parquet file"}
NEWER = "written by a newer scalebench (schema 2; this one reads up to 1): upgrade"
MOVED = "its run_id is {!r} but it is in the folder of {!r}"
DAMAGED = {
    "whole": (lambda _folder: None, {}, WHOLE),
    "truncated": (_cut(1000), INCOMPLETE, WITHOUT_STEPS),
    "empty": (_cut(0), INCOMPLETE, WITHOUT_STEPS),
    "last-byte-missing": (_cut(-1), INCOMPLETE, WITHOUT_STEPS),
    "bit-of-end-flipped": (_flip(-1), INCOMPLETE, WITHOUT_STEPS),
    "bit-of-footer-size-flipped": (_flip(-6), INCOMPLETE, WITHOUT_STEPS),
    "foreign": (
        lambda folder: pq.write_table(pa.table({"x": [1]}), folder / STEPS),
        {STEPS: "carries no schema_version: not written by scalebench"},
        WITHOUT_STEPS,
    ),
    "name-not-ours": (
        lambda folder: pq.write_table(pa.table({"x": [1]}), folder / "ddp.1x2.r0/notes.parquet"),
        {},
        WHOLE,
    ),
    "of-an-older-version": (_older, {}, WHOLE),
    "newer-parquet": (
        _rewrite(lambda t: t.replace_schema_metadata({"schema_version": "2"})),
        {STEPS: NEWER},
        WITHOUT_STEPS,
    ),
    "newer-run": (_set_json(RUN, schema_version=2), {RUN: NEWER}, WITHOUT_RUN),
    "newer-session": (_set_json("session.json", schema_version=2), {"session.json": NEWER}, NOTHING),
    "column-missing": (
        _rewrite(lambda t: t.drop_columns(["loss"])),
        {STEPS: "has no column loss"},
        WITHOUT_STEPS,
    ),
    "column-of-another-type": (
        _rewrite(
            lambda t: t.set_column(t.schema.get_field_index("step_ns"), "step_ns", pa.array(["x"] * 24))
        ),
        {STEPS: "column step_ns is string"},
        WITHOUT_STEPS,
    ),
    **{
        f"column-twice-{name}": (
            _rewrite(lambda t, name=name: t.append_column(name, t.column("loss"))),
            {STEPS: "has column step_ns more than once"},
            WITHOUT_STEPS,
        )
        for name in ("step_ns", "STEP_NS")
    },
    "copied-from-another-run": (
        lambda folder: shutil.copy(folder / OTHER_STEPS, folder / STEPS),
        {STEPS: MOVED.format("ddp.1x1.r0", "ddp.1x2.r0")},
        WITHOUT_STEPS,
    ),
    "swapped": (
        _swap,
        {
            STEPS: MOVED.format("ddp.1x1.r0", "ddp.1x2.r0"),
            OTHER_STEPS: MOVED.format("ddp.1x2.r0", "ddp.1x1.r0"),
        },
        (0, 2),
    ),
    "run-renamed": (
        lambda folder: (folder / "ddp.1x2.r0").rename(folder / "mine"),
        {"mine/run.json": "run_id is 'ddp.1x2.r0' but its folder is 'mine'"},
        WITHOUT_RUN,
    ),
    "attempt-in-the-wrong-folder": (
        lambda folder: shutil.copytree(folder / "ddp.1x1.r0", folder / "ddp.1x1.r0/attempt3"),
        {"ddp.1x1.r0/attempt3/run.json": "attempt is 0 but its folder is 'attempt3'"},
        WHOLE,
    ),
    "attempt-twice": (
        lambda folder: shutil.copytree(folder / "ddp.1x1.r0", folder / "ddp.1x1.r0/attempt0"),
        {"ddp.1x1.r0/run.json": "attempt 0 of this run is there twice"},
        WHOLE,
    ),
    "session-json-gone": (
        lambda folder: (folder / "session.json").unlink(),
        {".": NO_SESSION},
        NOTHING,
    ),
    "rows-not-parquet-yet": (
        _with_raw_rows,
        {RUN: "its step rows are not Parquet yet and are missing"},
        WHOLE,
    ),
    "never-began": (_not_finalised, {}, WHOLE),
    "steps-gone": (
        lambda folder: (folder / STEPS).unlink(),
        {
            RUN: "24 of its 24 step rows are missing: a steps.nodeN.parquet is gone or was changed: put it back;"
        },
        WITHOUT_STEPS,
    ),
    "file-leads-outside": (_lead_outside(STEPS), {STEPS: OUTSIDE}, WITHOUT_STEPS),
    "session-leads-outside": (_lead_outside("."), {".": OUTSIDE}, NOTHING),
    "session-json-leads-to-itself": (
        _lead_to_itself("session.json"),
        {"session.json": SELF, ".": NO_SESSION},
        NOTHING,
    ),
    "run-json-leads-to-itself": (_lead_to_itself(RUN), {RUN: SELF}, WITHOUT_RUN),
    "steps-lead-to-themselves": (_lead_to_itself(STEPS), {STEPS: SELF}, WITHOUT_STEPS),
    # A folder that cannot be entered is none.
    "attempt-leads-to-itself": (_lead_to_itself("ddp.1x2.r0/attempt0"), {}, WHOLE),
    "pipe": (_pipe_for(RUN), {RUN: "not a regular file: remove it"}, WITHOUT_RUN),
    "steps-are-a-pipe": (_pipe_for(STEPS), {STEPS: "not a regular file: remove it"}, WITHOUT_STEPS),
    "steps-lead-to-a-device": (_lead_to_a_device(STEPS), {STEPS: OUTSIDE}, WITHOUT_STEPS),
    "session-json-leads-to-a-device": (
        _lead_to_a_device("session.json"),
        {"session.json": OUTSIDE, ".": NO_SESSION},
        NOTHING,
    ),
    "grows-without-end": (_grow, {STEPS: "declares 3,000,000 rows in "}, WITHOUT_STEPS),
    "fills-the-memory": (_fill_memory, {STEPS: "column kind holds 5,0"}, WITHOUT_STEPS),
}
"""Session -> its damage, path of each bad file -> beginning of its problem, and the step rows and runs loaded."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """All damaged sessions, loaded at once."""
    folder = tmp_path_factory.mktemp("bad")
    for name in (*DAMAGED, "session-renamed"):
        make_session(folder / "sound", [CASE], session_id=name)
    results = shutil.copytree(folder / "sound", folder / "results")
    for name, (damage, _problems, _rows) in DAMAGED.items():
        damage(results / name)
    (results / "session-renamed").rename(results / "renamed")
    report = load(results)
    return SimpleNamespace(
        results=results,
        sound=folder / "sound",
        report=report,
        again=load(results),
        steps=_by_session(results, "steps"),
        runs=_by_session(results, "runs"),
    )


def _by_session(results, table):
    """Rows of each session in the table."""
    return Counter(row["session_id"] for row in ask(results, f"SELECT session_id FROM {table}"))


def _problems(loaded, session):
    """Path below the session's folder -> reason."""
    found = [(problem.path.partition("/"), problem.reason) for problem in loaded.report.problems]
    return {path or ".": reason for (name, _, path), reason in found if name == session}


@pytest.mark.parametrize("session", DAMAGED)
def test_a_bad_file_is_named_and_left_out(loaded, session):
    """Everything else of its session is loaded."""
    _damage, wanted, rows = DAMAGED[session]
    found = _problems(loaded, session)
    assert found.keys() == wanted.keys()
    assert [(path, reason) for path, reason in found.items() if not reason.startswith(wanted[path])] == []
    assert (loaded.steps[session], loaded.runs[session]) == rows


def test_a_renamed_session_folder_is_named_and_left_out(loaded):
    said = "session_id is 'session-renamed' but its folder is 'renamed'"
    ((path, reason),) = _problems(loaded, "renamed").items()
    assert (path, reason[: len(said)]) == ("session.json", said)
    assert not {"renamed", "session-renamed"} & {*loaded.steps, *loaded.runs}


def test_a_bad_file_is_named_by_every_load(loaded):
    assert loaded.again.problems == loaded.report.problems
    assert (loaded.again.sessions, loaded.again.unchanged_sessions) == (0, len(DAMAGED) + 1)


def test_the_load_after_all_files_were_put_back_has_every_row(loaded, tmp_path):
    results = shutil.copytree(loaded.sound, tmp_path / "results")
    shutil.copy(connections.database_path(loaded.results), results)
    report = load(results)
    assert (report.problems, report.removed_sessions) == ((), 1)
    sessions = [*DAMAGED, "session-renamed"]
    assert _by_session(results, "steps") == dict.fromkeys(sessions, 36)
    assert _by_session(results, "runs") == dict.fromkeys(sessions, 2)


@pytest.fixture
def good_and_bad(results, without_rules):
    """Two sessions."""
    for session_id in ("good", "bad"):
        make_session(results, [CASE], session_id=session_id)
    return results


def test_a_parquet_with_a_broken_page_and_a_whole_footer_is_named_and_left_out(good_and_bad):
    steps = good_and_bad / "bad" / STEPS
    raw = bytearray(steps.read_bytes())
    raw[4:400] = b"\xff" * 396
    steps.write_bytes(raw)
    (problem,) = load(good_and_bad).problems
    assert problem.path == f"bad/{STEPS}"
    assert "its rows cannot be read" in problem.reason
    assert _by_session(good_and_bad, "steps") == {"good": 36, "bad": 12}
    _cut(-100)(good_and_bad / "good")
    cut, broken = load(good_and_bad).problems[::-1]
    assert (broken, cut.path) == (problem, f"good/{STEPS}")
    assert cut.reason.startswith(
        "not a complete Parquet file"
    )  # its own reason, although another file broke the load


def test_a_session_that_nothing_can_be_derived_from_is_named_and_left_out(good_and_bad, monkeypatch):
    text = schema.text

    def failing_for_one(name: str) -> str:
        fails = "CASE WHEN session_id = 'bad' THEN session_id::INTEGER END IS NULL"
        return f"SELECT * FROM ({text(name)}) WHERE {fails}" if name == "coverage" else text(name)

    monkeypatch.setattr(schema, "text", failing_for_one)
    report = load(good_and_bad)
    (problem,) = report.problems
    assert problem.path == "bad/session.json"
    assert problem.reason.startswith("nothing can be derived from its rows (Conversion Error: ")
    assert [row["session_id"] for row in ask(good_and_bad, "FROM sessions")] == ["good"]
    assert _by_session(good_and_bad, "steps") == {"good": 36}
    assert load(good_and_bad).problems == (problem,)
