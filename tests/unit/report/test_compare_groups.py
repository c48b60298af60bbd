"""The compare page with several sessions on one side."""

from __future__ import annotations

import html
import re
from datetime import datetime

import pytest

from analysis.errors import AnalysisError
from analysis.loading.load import load
from analysis.report import write
from analysis.report.html.files import compare_name
from analysis.report.pages.comparison.existing import compared_with, comparison_title, found
from tests.factory import Case, make_session
from tests.unit.report.test_compare_page import plain, verdicts

DAYS = {"a1": 10.0, "a2": 10.2, "b1": 12.0, "b2": 12.1, "c": 10.1}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups") / "results"
    folder.mkdir()
    for name, step_ms in DAYS.items():
        case = Case(name="ddp", step_ms={2: [step_ms, 1.01 * step_ms]}, repeats=2)
        make_session(folder, [case], session_id=name, tags=["old"] if name.startswith("a") else [])
    load(folder)
    return folder


@pytest.fixture(scope="module")
def written(results, tmp_path_factory):
    """The page that compares two sessions with two others, named by tag and by list, and its folder."""
    out = tmp_path_factory.mktemp("out")
    write(results, ["tag:old", "b1,b2"], out, compare=True)
    (path,) = out.glob("compare-*.html")
    return re.sub(r"<script>.*?</script>", "", path.read_text("utf-8"), flags=re.S), out


def test_the_ratio_is_of_the_sides_and_every_session_keeps_its_letter(written):
    page, _ = written
    (said,) = verdicts(page)
    assert said.startswith(
        "C with D against A with B: throughput of ddp at 2 ranks 0.838× [0.822, 0.854], slower"
    )
    rows = plain(page, "ratios", "charts").replace("\u00a0", " ")
    assert "C with D against A with B Ratios of C with D to A with B" in rows
    assert "slower: regression" in rows
    assert "2, 2 4, 4" in rows  # sessions, repeats


def test_every_session_of_the_baseline_is_marked_as_such(written):
    page, _ = written
    table = html.unescape(re.sub(r"<[^>]+>", " ", page.partition('class="verdict"')[0]))
    assert [" ".join(found.split()) for found in re.findall(r"[A-D](?:, baseline)?\s+[ab][12]\s", table)] == [
        "A, baseline a1", "B, baseline a2", "C b1", "D b2",
    ]  # fmt: skip


def test_the_comparison_is_found_again_with_its_sides(written):
    _, out = written
    sides = [["a1", "a2"], ["b1", "b2"]]
    assert found(out) == {compare_name(sides): sides}
    assert len({compare_name(s) for s in (sides, ["a1", "a2", "b1", "b2"], [["a1", "a2"], "b1"])}) == 3
    index = (out / "index.html").read_text("utf-8")
    assert "C (2026-11-21 01:49) with D (2026-11-21 01:49) against A (2026-11-21 01:49) with B" in index
    for name in ("a1", "b2"):
        assert compare_name(sides) in (out / f"{name}.html").read_text("utf-8")


def test_a_title_of_sessions_that_the_database_does_not_know_has_their_ids():
    assert comparison_title([["a", "b"], "c", ["d", "e"]]) == "C c and D d with E e against A a with B b"


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        (["a1,b1", "b1,c"], "b1 is on two sides"),
        (["a1,a2"], "two different sessions or more, the baseline first; 1 was named"),
        (["a1:ddp", "b1:ddp"], "names a case: give whole sessions here"),
        (["a", "b1"], "'a' begins 2 sessions: a2, a1"),
    ],
)
def test_sides_that_are_none_are_refused_and_nothing_is_written(results, tmp_path, sides, said):
    with pytest.raises(AnalysisError, match=said):
        write(results, sides, tmp_path / "out", compare=True)
    assert not (tmp_path / "out").exists()


def test_a_session_leads_to_the_other_sides_by_their_start():
    known = {"b1": {"created_at": datetime(2026, 11, 23, 10, 15)}}
    sides = (("a1", "a2"), ("b1", "gone"))
    assert compared_with(sides, "a1", known) == "2026-11-23 10:15, gone"
    assert compared_with(sides, "b1", known) == "a1, a2"
