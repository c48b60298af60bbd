"""Very long and empty names on the pages: they neither push the rest away nor hide what differs."""

from __future__ import annotations

import html
import re

import pytest

from analysis.report import write
from analysis.report.html.markup import LONGEST, cut, folded, headline, short
from analysis.report.pages.frame import asset
from tests.factory import Case, make_session

LONG = "x" * 10_000


def lines(path):
    """The texts between tags, without what is folded."""
    page = re.sub(r"<(script|style|details)[^>]*>.*?</\1>", "", path.read_text("utf-8"), flags=re.S)
    return [html.unescape(part) for part in re.split(r"<[^>]+>", page)]


def write_sessions(results):
    """Two sessions with a very long tag; the second has further tags, two of them empty."""
    for name, tags in (("y", [LONG]), ("z", [LONG, "", " ", "h200"])):
        cases = [Case(name="ddp", step_ms={1: 9.0, 2: 5.0})]
        facts = {"0": {"hostname": LONG + name}}
        make_session(results, cases, session_id=name, suite="long", tags=tags, environment=facts)


@pytest.fixture(scope="module")
def pages(shared, tmp_path_factory):
    """Pages of the two sessions, those of their suite and comparison, and the index."""
    return write(shared, ["y", "z"], tmp_path_factory.mktemp("long"), compare=True)


def test_a_very_long_tag_or_fact_takes_one_line_wherever_it_stands(pages):
    for path in pages:
        shown = lines(path)
        assert max(map(len, shown)) < 500
        if not path.name.startswith("history-"):  # which shows no tags
            assert cut(LONG, LONGEST) in [part.removeprefix("tag ") for part in shown]


def test_the_filter_still_knows_the_whole_tag(pages):
    index = pages[-1].read_text("utf-8")
    assert f'<option value="{LONG}">{cut(LONG, LONGEST)}</option>' in index
    assert index.count(f'data-tag="{LONG}"') == 2


def test_an_empty_tag_is_not_shown(pages):
    _, page, _, comparison, index = (path.read_text("utf-8") for path in pages)
    options = index.partition('name="tag"')[2].partition("</select>")[0]
    assert re.findall(r'<option value="([^"]*)">', options) == ["", "h200", LONG]
    assert index.count('class="tag"') == 3
    assert page.count("tag <bdi>") == 2
    assert f"<bdi>{cut(LONG, LONGEST)}, h200</bdi>" in comparison


def test_a_cut_is_marked_and_a_short_name_is_whole():
    assert short("a" * LONGEST) == f"<bdi>{'a' * LONGEST}</bdi>"
    assert short("<" * (LONGEST + 1)) == f"<bdi>{'&lt;' * (LONGEST - 1)}…</bdi>"
    assert folded("plain") == "<bdi>plain</bdi>"
    assert f"<bdi>{LONG}</bdi></details>" in folded(LONG)


def test_a_long_title_stands_whole_in_its_heading_of_which_two_lines_show():
    assert headline("DDPM") == "<h1><bdi>DDPM</bdi></h1>"
    whole = "<" + LONG
    assert headline(whole) == f'<h1 title="&lt;{LONG}"><bdi>&lt;{LONG}</bdi></h1>'
    assert headline(whole, ": 2 sessions compared") == (
        f'<h1 title="&lt;{LONG}">{short(whole)}: 2 sessions compared</h1>'
    )
    assert "h1[title] { " in asset("base.css")
