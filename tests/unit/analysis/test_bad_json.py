"""JSON that is damaged or made up is named, and ends in no traceback."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.database import connections
from analysis.loading import read_files
from analysis.loading.load import load
from analysis.loading.scan import discover
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import named, take_in

RUN = "ddp.1x2.r0/run.json"


@pytest.fixture
def folder(results):
    return make_session(results, [Case(name="ddp", step_ms={2: 2.0}, repeats=1)], session_id="bad")


RUBBISH = (
    "",
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


@pytest.mark.parametrize("name", ["session.json", RUN])
def test_rubbish_json_is_one_problem_and_no_traceback(results, folder, name):
    for text in RUBBISH:
        (folder / name).write_text(text)
        assert named(results).path == f"bad/{name}", text[:50]
    assert [problem.path for problem in load(results).problems] == [f"bad/{name}"]


def test_a_setting_that_is_no_number_stops_no_rule(results, folder):
    run = json.loads((folder / RUN).read_text())
    spec = run["spec"]
    spec["train"] |= {"learning_rate": [0.1], "momentum": [0.9]}
    spec["measure"] |= {"warmup": [1], "steps": [1], "timeout_s": [1], "selfcheck": [1]}
    spec["data"] |= {"workers": [1]}
    spec["strategy_options"] |= {"bucket_cap_mb": [25], "shard_size": [1]}
    (folder / RUN).write_text(json.dumps(run))
    make_session(results, [Case(name="ddp", step_ms={1: 4.0}, repeats=1)], session_id="good")
    assert load(results).step_rows == 36


def test_bytes_that_are_no_text_are_one_problem(results, folder):
    (folder / RUN).write_bytes(b"\xff\xfe\x00{")
    assert "not valid JSON" in named(results).reason


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    """A session's folder, and an open database to load it into again and again."""
    results = tmp_path_factory.mktemp("fuzz")
    folder = make_session(results, [Case(name="ddp", step_ms={1: 4.0}, repeats=1)], session_id="bad")
    with connections.writer(results) as connection:
        yield folder, connection


def _paths(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*path, key))


@settings(max_examples=15, deadline=None)
@given(data=st.data(), name=st.sampled_from(["session.json", "ddp.1x1.r0/run.json"]))
def test_any_value_anywhere_in_our_json_loads_or_is_named(fuzzed, data, name):
    folder, connection = fuzzed
    original = (folder / name).read_text()
    content = json.loads(original)
    path = data.draw(st.sampled_from([p for p in _paths(content) if p]))
    at = content
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = data.draw(JSON)
    try:
        (folder / name).write_text(json.dumps(content))
        found = read_files.read(discover(folder.parent), {})
    finally:
        (folder / name).write_text(original)
    assert {row["path"] for row in found.seen if row["problem"]} <= {f"bad/{name}"}
    connection.begin()
    take_in(connection, found)
    connection.rollback()
