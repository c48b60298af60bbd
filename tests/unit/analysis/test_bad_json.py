"""JSON that is damaged or made up is named, and ends in no traceback."""

from __future__ import annotations

import json
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.loading import read_files
from analysis.loading.load import load
from analysis.loading.scan import discover
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import take_in

NO_TEXT = "\xff\xfe\x00{"
"""Written as these four bytes, which are not UTF-8."""
RUBBISH = (
    "",
    NO_TEXT,
    "[]",
    "null",
    "{",
    '{"schema_version": 1}',
    '{"schema_version": NaN}',
    '{"schema_version": true}',
    '{"schema_version": -1}',
    '{"schema_version": 1e999}',
    '{"a": "\\ud800"}',
    "[" * 100_000,
    "\x00",
    "1" * 10_000,
)


@pytest.fixture(scope="module")
def loaded(empty, tmp_path_factory):
    """One load of each rubbish as a session.json and as a run.json, and of two sessions that can be loaded."""
    results = shutil.copytree(empty, tmp_path_factory.mktemp("json") / "results")
    case = Case(name="ddp", step_ms={1: 4.0}, repeats=len(RUBBISH))
    folder = make_session(results, [case], session_id="runs")
    for number, text in enumerate(RUBBISH):
        (folder / f"ddp.1x1.r{number}/run.json").write_bytes(text.encode("latin-1"))
        copy = shutil.copytree(folder, results / f"session{number}")
        (copy / "session.json").write_bytes(text.encode("latin-1"))
    make_session(results, [Case(name="ddp", step_ms={1: 4.0}, repeats=1)], session_id="good")
    folder = make_session(results, [Case(name="ddp", step_ms={2: 2.0}, repeats=1)], session_id="odd")
    run = json.loads((folder / "ddp.1x2.r0/run.json").read_text())
    spec = run["spec"]
    spec["train"] |= {"learning_rate": [0.1], "momentum": [0.9]}
    spec["measure"] |= {"warmup": [1], "steps": [1], "timeout_s": [1], "selfcheck": [1]}
    spec["data"] |= {"workers": [1]}
    spec["strategy_options"] |= {"bucket_cap_mb": [25], "shard_size": [1]}
    (folder / "ddp.1x2.r0/run.json").write_text(json.dumps(run))
    return load(results)


def test_rubbish_json_is_one_problem_and_no_traceback(loaded):
    named = {problem.path: problem.reason for problem in loaded.problems}
    assert len(named) == len(loaded.problems)
    for number, text in enumerate(RUBBISH):
        for path in (f"session{number}/session.json", f"runs/ddp.1x1.r{number}/run.json"):
            reason = named.pop(path, "")
            assert reason, (path, text[:50])
            assert text != NO_TEXT or reason.startswith("not valid JSON")
    assert named == {}


def test_a_setting_that_is_no_number_stops_no_rule(loaded):
    assert loaded.step_rows == 36


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


def _paths(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*path, key))


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Sessions of one run each, for one odd value each."""
    results = tmp_path_factory.mktemp("fuzz")
    case = Case(name="ddp", step_ms={1: 4.0}, repeats=1)
    return [make_session(results, [case], session_id=f"s{number}") for number in range(12)]


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_any_value_anywhere_in_our_json_loads_or_is_named(sessions, in_memory, data):
    """Each session gets one value; they are loaded together."""
    originals = {}
    try:
        for folder in sessions:
            path = folder / data.draw(st.sampled_from(["session.json", "ddp.1x1.r0/run.json"]))
            originals[path] = path.read_text()
            content = json.loads(originals[path])
            *parents, key = data.draw(st.sampled_from([keys for keys in _paths(content) if keys]))
            at = content
            for parent in parents:
                at = at[parent]
            at[key] = data.draw(JSON)
            path.write_text(json.dumps(content))
        found = read_files.read(discover(sessions[0].parent), {})
    finally:
        for path, text in originals.items():
            path.write_text(text)
    changed = {path.relative_to(sessions[0].parent).as_posix() for path in originals}
    assert {row["path"] for row in found.seen if row["problem"]} <= changed
    in_memory.begin()
    take_in(in_memory, found)
    in_memory.rollback()
