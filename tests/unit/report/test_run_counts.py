"""The number of ok runs in every place of the pages that gives it."""

from __future__ import annotations

import html
import json
import re
import shutil

import pytest

from analysis.report import write
from tests.factory import Case, make_session, write_json
from tests.unit.report.conftest import comparison

WHOLE = "whole"
"""The session that the others are compared with."""


def write_sessions(results):
    """WHOLE, and sessions of 9 runs each."""
    make_session(results, [Case(name="ddp", step_ms={1: 9.0})], session_id=WHOLE, suite=f"{WHOLE} suite")
    for name, change in CHANGES.items():
        case = Case(name="ddp", step_ms={1: 9.0, 2: 5.0, 4: 3.0})
        change(make_session(results, [case], session_id=name, suite=f"{name} suite"))


@pytest.fixture(scope="module")
def said(shared, tmp_path_factory):
    """Session -> text of its page, and its rows of the comparison and of the index. WHOLE -> text of the comparison."""
    *pages, index = write(shared, list(CHANGES), tmp_path_factory.mktemp("counts"))
    compared, listed = comparison(shared, [WHOLE, *CHANGES]), index.read_text("utf-8")
    return {WHOLE: words(compared)} | {
        name: (
            words(page.read_text("utf-8")),
            row_of(compared.partition("Ratios")[0], name),
            row_of(listed, name),
        )
        for name, page in zip(CHANGES, pages, strict=True)
    }


def row_of(page, session):
    """The text of the one row of a session."""
    (row,) = [row for row in re.findall(r"<tr.*?</tr>", page, re.S) if f"<bdi>{session}</bdi>" in row]
    return words(row)


def words(page):
    page = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def lose_four(folder):
    for run in sorted(folder.glob("ddp*"))[:4]:
        shutil.rmtree(run)


def lose_all(folder):
    for run in folder.glob("ddp*"):
        shutil.rmtree(run)


def forget_four(folder):
    path = folder / "session.json"
    session = json.loads(path.read_text("utf-8"))
    write_json(path, session | {"plan": session["plan"][:5]})


CHANGES = {"four_lost": lose_four, "all_lost": lose_all, "four_forgotten": forget_four}


def test_runs_without_a_result_count_everywhere(said):
    page, compared, index = said["four_lost"]
    assert "5 of 9 runs ok" in page
    assert "5 of 9 planned runs are ok." in page
    assert "4 missing" in page
    assert "5 of 9" in compared
    assert "5 of 9" in index


def test_a_session_without_any_result_has_none_of_its_planned_runs_ok(said):
    page, compared, index = said["all_lost"]
    assert "0 of 9 runs ok" in page
    assert all("0 of 9" in other for other in (compared, index))


def test_runs_beyond_the_plan_count_and_are_named(said):
    page, compared, index = said["four_forgotten"]
    assert "9 of 9 runs ok" in page
    assert "All 9 runs are ok. 4 runs are not in the plan: ddp 1x1, 1x2, 1x4" in page
    assert "9 of 9" in compared
    assert "9 of 9" in index
    assert "9 of 5" not in page + said[WHOLE] + index
