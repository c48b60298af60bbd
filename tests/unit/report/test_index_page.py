"""The list of sessions as HTML."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from analysis.report.pages.comparison.existing import comparison_title
from analysis.report.pages.index import index_page

ROW = {
    "session_id": "20261121T014925Z-smoke-3f9a",
    "suite": "smoke",
    "title": "A small CNN",
    "created_at": datetime(2026, 11, 21, 1, 49, tzinfo=UTC),
    "quick": True,
    "tags": ["laptop", "<b>"],
    "runs": 9,
    "ok": 8,
    "skipped": 0,
    "devices": "NVIDIA H200",
    "case_name": "ddp",
    "axis": "ranks",
    "workers": 4,
    "nodes": 1,
    "is_baseline": False,
    "speedup": 3.2,
    "speedup_lo": 3.12,
    "speedup_hi": 3.28,
    "speedup_min": None,
    "speedup_max": None,
    "efficiency": 0.8,
    "efficiency_lo": 0.78,
    "efficiency_hi": 0.82,
    "verdict": "good",
    "verdict_lo": "good",
    "verdict_hi": "good",
}
UNJUDGED = ROW | dict.fromkeys(
    [
        "case_name",
        "axis",
        "workers",
        "speedup",
        "efficiency",
        "efficiency_lo",
        "efficiency_hi",
        "verdict",
        "verdict_lo",
        "verdict_hi",
        "devices",
    ]
)


def body(page):
    return re.sub(r"<(script|style)>.*?</\1>", "", page, flags=re.S)


def words(page):
    rows = re.findall(r"<tr data.*?</tr>", body(page), re.S)
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()).replace("\u00a0", " ") for row in rows]


@pytest.fixture
def page():
    """`page(rows...)`, where every session has a page."""
    return lambda *rows: index_page(rows, lambda session_id: f"{session_id}.html", {}, out="public")


def test_a_row_tells_title_tags_id_time_size_efficiency_verdict_runs_and_device(page):
    assert words(page(ROW)) == [
        "A small CNN quick laptop &lt;b&gt; 20261121T014925Z-smoke-3f9a 2026-11-21 01:49 ddp 4 ranks "
        "80.0 % [78.0, 82.0] speedup 3.20× good 8 of 9 NVIDIA H200"
    ]


def test_sessions_of_the_same_title_are_told_apart_by_their_id(page):
    shown = words(page(ROW, ROW | {"session_id": "20261121T014925Z-smoke-77bb"}))
    assert [row.split()[6] for row in shown] == ["20261121T014925Z-smoke-3f9a", "20261121T014925Z-smoke-77bb"]


def test_a_session_without_a_judged_size_shows_dashes_and_can_be_filtered_for(page):
    shown = page(UNJUDGED, ROW)
    assert words(shown)[0].endswith("2026-11-21 01:49 – – – 8 of 9 –")
    assert 'data-verdict="no verdict"' in shown
    assert '<option value="no verdict">' in shown


def test_filters_offer_what_the_sessions_have_as_text(page):
    shown = page(ROW, ROW | {"suite": '"><script>'})
    assert re.findall(r'<option value="([^"]+)">', shown) == [
        "&#34;&gt;&lt;script&gt;", "smoke", "&lt;b&gt;", "laptop", "good",
    ]  # fmt: skip


def test_one_session_needs_no_filter_and_none_no_table(page):
    assert "<select" not in page(ROW)
    assert "<table" not in page()
    assert "There is no session yet" in page()


def test_comparisons_are_listed_as_text():
    page = index_page(
        [ROW], lambda _: None, {"compare-0123456789ab.html": "<i>b</i> against a"}, out="public"
    )
    assert '<a href="compare-0123456789ab.html"><bdi>&lt;i&gt;b&lt;/i&gt; against a</bdi></a>' in page
    assert "Comparisons" not in index_page([ROW], lambda _: None, {}, out="public")


def test_comparisons_of_the_same_title_are_told_apart_by_the_ids_of_their_sessions():
    ids = {"compare-0123456789ab.html": ["one", "<two>"]}
    shown = body(index_page([ROW], lambda _: None, dict.fromkeys(ids, "B against A"), ids, out="public"))
    assert "A <bdi>one</bdi> · B <bdi>&lt;two&gt;</bdi>" in shown


def test_a_session_without_a_page_says_which_command_writes_it():
    page = index_page([ROW | {"session_id": "one two"}], lambda _: None, {}, out="public")
    assert "one two no page: bench report &#39;one two&#39; --out public" in words(page)[0]
    assert "no page" not in body(index_page([ROW], lambda name: f"{name}.html", {}, out="public"))


@pytest.mark.parametrize(
    ("ok", "skipped", "alarming"), [(9, 0, False), (6, 3, False), (6, 2, True), (8, 0, True)]
)
def test_runs_alarm_where_one_went_wrong_and_not_where_the_machine_could_not_host_it(
    page, ok, skipped, alarming
):
    shown = page(ROW | {"ok": ok, "skipped": skipped})
    assert ('class="few"' in body(shown)) == alarming
    assert (f"{ok} of 9 {skipped} skipped" in words(shown)[0]) == (skipped > 0)


def test_a_thousand_sessions_take_less_than_a_megabyte(page):
    many = [ROW | {"session_id": f"20261121T014925Z-smoke-{n:04x}", "tags": ["laptop"]} for n in range(1000)]
    shown = page(*many)
    assert len(words(shown)) == 1000
    assert len(shown.encode()) < 1_000_000
    assert "All 1,000 sessions" in shown


def test_a_comparison_is_named_by_titles_and_by_times_where_two_began_on_one_day():
    def row(title, hour):
        return {"title": title, "suite": "smoke", "created_at": datetime(2026, 11, 21, hour, tzinfo=UTC)}

    known = {"a": row("CNN", 1), "b": row(None, 2)}
    said = "B smoke (2026-11-21 02:00) against A CNN (2026-11-21 01:00)"
    assert comparison_title(["a", "b"], known) == said
    assert comparison_title(["gone", "a"], known) == "B CNN (2026-11-21) against A gone"
