"""How many runs are ok, wherever the pages say it."""

from __future__ import annotations

import html
import json
import re
import shutil

import pytest

from analysis.load import load
from analysis.report import write
from tests.factory import Case, make_session, write_json


@pytest.fixture
def said(tmp_path):
    """`said(change)`: what header, coverage, index and comparison say of a session of 9 runs that `change` edits."""

    def read(change):
        folder = make_session(tmp_path, [Case(name="ddp", step_ms={1: 9.0, 2: 5.0, 4: 3.0})], session_id="a")
        make_session(tmp_path, [Case(name="ddp", step_ms={1: 9.0})], session_id="b")
        change(folder)
        assert load(tmp_path).problems == ()
        page, _, comparison, index = (
            words(path) for path in write(tmp_path, ["a", "b"], tmp_path / "out", compare=True)
        )
        return page, comparison, index

    return read


def words(path):
    page = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", path.read_text("utf-8"), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def lose_four(folder):
    for run in sorted(folder.glob("ddp*"))[:4]:
        shutil.rmtree(run)


def test_runs_without_a_result_count_everywhere(said):
    page, comparison, index = said(lose_four)
    assert "5 of 9 runs ok" in page
    assert "5 of 9 planned runs are ok." in page
    assert "4 missing" in page
    assert "5 of 9" in comparison.partition("Ratios")[0]
    assert "5 of 9" in index


def test_a_session_without_any_result_has_none_of_its_planned_runs_ok(said):
    page, comparison, index = said(lambda folder: [shutil.rmtree(run) for run in folder.glob("ddp*")])
    assert "0 of 9 runs ok" in page
    assert all("0 of 9" in other for other in (comparison, index))


def forget_four(folder):
    path = folder / "session.json"
    session = json.loads(path.read_text("utf-8"))
    write_json(path, session | {"plan": session["plan"][:5]})


def test_runs_beyond_the_plan_count_and_are_named(said):
    page, comparison, index = said(forget_four)
    assert "9 of 9 runs ok" in page
    assert "All 9 runs are ok. 4 runs are not in the plan: ddp 1x1, 1x2, 1x4" in page
    assert "9 of 9" in comparison.partition("Ratios")[0]
    assert "9 of 9" in index
    assert "9 of 5" not in page + comparison + index
