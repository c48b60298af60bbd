"""A session's page names the differences between its own runs."""

from __future__ import annotations

import html
import json
import re

import pytest

from analysis.report.pages.session import session_page
from tests.factory import Case, make_session
from tests.unit.report.conftest import contents_of

CHANGES = {
    "serious": {"driver": "1", "gpu": "NVIDIA H100", "torch": "2.16.0"},
    "commit": {"scalebench": "0.2.0"},
    "none": {},
}
"""Session -> facts of its last run alone."""


def write_sessions(results):
    for name, change in CHANGES.items():
        cases = [Case(name="ddp", step_ms={1: 20.0, 2: 10.0})]
        session = make_session(results, cases, session_id=name, suite=f"{name} change")
        path = session / "ddp.1x2.r2/run.json"
        run = json.loads(path.read_text("utf-8"))
        run["fingerprint"] |= change
        path.write_text(json.dumps(run), "utf-8")


@pytest.fixture(scope="module")
def said_of(shared):
    """Session -> the words of the table."""
    contents = contents_of(shared, *CHANGES)
    return {name: _said(session_page(read, bundle="")) for name, read in contents.items()}


def _said(page):
    _, found, rest = page.partition("The runs of this session were not all made in the same environment")
    said = html.unescape(re.sub(r"<[^>]+>", " ", found + rest.partition("</table>")[0]))
    return " ".join(said.split())


def test_what_comparisons_rest_on_is_named_with_the_number_of_runs(said_of):
    said = said_of["serious"]
    assert "comparisons depend on these differences" in said
    assert "torch differs: ◆ 2.15.0 must be equal 5 on cpu ddp.1x1.r0" in said
    assert "torch differs: ◆ 2.16.0 must be equal 1 on cpu ddp.1x2.r2" in said


def test_another_commit_is_worth_knowing_and_no_more(said_of):
    said = said_of["commit"]
    assert "these differences should not affect their speed" in said
    assert "scalebench differs: ◆ 0.2.0 worth knowing 1 on cpu ddp.1x2.r2" in said


def test_runs_that_were_made_alike_are_not_mentioned(said_of):
    assert said_of["none"] == ""
