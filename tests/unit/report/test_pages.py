"""Contents of the pages."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

import pytest

from analysis.errors import AnalysisError
from analysis.report import write
from analysis.report.charts import all_charts
from analysis.report.html.embedding import unpacked
from tests.unit.report.conftest import BROKEN, GPUS, HOSTILE, SCALING


def sections(page):
    return re.findall(r"<h2 id=\"(\w+)\">", page.partition("<main")[2])


def test_there_is_a_page_per_session_and_an_index_that_leads_to_each(pages):
    index = pages[-1]
    assert index.name == "index.html"
    links = [html.unescape(link) for link in re.findall(r'<a href="([^"]+)"', index.read_text("utf-8"))]
    assert links == [page.name for page in pages[:-1]]
    assert links[-1] == f"{SCALING}.html"


def test_only_the_hashed_scripts_and_style_may_run_and_nothing_may_load(pages):
    for path in pages:
        page = path.read_text("utf-8")
        policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
        parts = dict(part.split(" ", 1) for part in policy.split("; "))
        inside = [*re.findall(r"<script>(.*?)</script>", page, re.S)]
        assert parts["script-src"] == (" ".join(map(source, inside)) or "'none'")
        assert parts["style-src"] == source(re.search(r"<style>(.*?)</style>", page, re.S)[1])
        assert (parts["default-src"], parts["img-src"]) == ("'none'", "data:")
        assert "unsafe" not in policy
        assert len(inside) == (1 if path.name == "index.html" else 5)


def source(content):
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def test_no_page_refers_to_anything_elsewhere_or_styles_an_element(page_of):
    for page in page_of.values():
        markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.S)
        markup = re.sub(r">[^<]*<", "><", markup)  # text is no attribute
        assert re.findall(r"\s(?:src|action|style|on\w+)=", markup) == []
        assert [link for link in re.findall(r'href="([^"]*)"', markup) if "/" in link] == []
        assert re.findall(r"https?://", markup) == []


def test_a_page_with_all_charts_stays_within_its_size(pages):
    page = next(path for path in pages if path.stem == SCALING)
    assert page.stat().st_size <= 1.2e6
    of_training = [chart for chart in all_charts().values() if chart.section != "machine"]
    # a CPU has no sensors; smoke has no target; no published curves are loaded
    assert page.read_text("utf-8").count("<figure class=") == len(of_training) - 5


def test_the_page_tells_title_why_verdict_summary_coverage_settings_and_command(page_of):
    page = page_of[SCALING]
    assert "The suite smoke" in page
    assert "Does it scale?" in page
    assert "<h1>At the largest sizes: <bdi>ddp</bdi> on 4 ranks 3.20×" in page
    assert sections(page) == [
        "charts",
        "findings",
        "summary",
        "losses",
        "steps",
        "training",
        "hardware_use",
        "strategies",
        "what_if",
        "further",
        "coverage",
        "notes",
        "perturbation",
        "hyperparameters",
        "hardware",
        "purpose",
        "command",
    ]
    assert '<code id="command-line"><bdi>bench suite smoke</bdi></code>' in page
    assert '<span class="key"><bdi>precision</bdi></span> <bdi>fp32</bdi>' in page
    assert "2.15.0" in page


def test_what_is_not_ok_stands_there_with_its_reason(page_of):
    page = page_of[SCALING]
    assert "20 of 21 planned runs are ok." in page
    assert '<b>1</b> <span class="label bad"><bdi>failed</bdi></span>' in page
    assert "RuntimeError: broken" in page


def test_oversubscribed_rows_are_marked_and_not_judged(page_of):
    assert page_of[SCALING].count('<span class="label none"><bdi>oversubscribed</bdi></span>') == 1
    assert "these rows have no verdict" in page_of[SCALING]
    assert "<bdi>oversubscribed</bdi>" not in page_of[GPUS]


def test_gloo_is_spoken_of_where_fsdp_ran_on_cpus(page_of):
    assert "gloo, which performs reduce-scatter as all-reduce" in page_of[SCALING]
    assert "gloo, which performs" not in page_of[GPUS]


def test_beside_intervals_stands_what_repeats_of_one_allocation_do_not_contain(page_of):
    assert "Repeats of one allocation do not include differences between allocations" in page_of[SCALING]


def test_a_session_without_an_ok_run_still_says_what_happened(page_of):
    page = page_of[BROKEN]
    assert "No run of this session is ok" in page
    assert "0 of 6 planned runs are ok." in page
    assert page.count("<figure class=") == 2  # memory and wall time: measured before the end
    assert "How steady are the steps?" in page.partition("This session has no data for these charts:")[2]


def test_hostile_names_are_text(page_of):
    for page in (page_of[HOSTILE], page_of["index"]):
        markup = re.sub(r"<script(?: type=\"application/json\"[^>]*)?>.*?</script>", "", page, flags=re.S)
        assert "<script" not in markup
        assert "&lt;script&gt;window.hacked=1&lt;/script&gt;" in markup
    payloads = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page_of[HOSTILE], re.S)
    assert len(payloads) >= 11
    assert all(json.loads(payload) for payload in payloads)


def test_each_chart_has_its_sql_its_row_count_and_its_data_once(page_of):
    figures = re.findall(r"<figure.*?</figure>", page_of[SCALING], re.S)
    for figure in figures:
        payload = unpacked(re.search(r"json\">(.*?)</script>", figure, re.S)[1])
        assert f"Data, {payload['count']:,} row" in figure
        assert "<summary>SQL</summary>" in figure
        assert html.unescape(figure).count(f"session_id = '{SCALING}'") >= 1
        assert {height(column) for column in payload["columns"].values()} == {payload["count"]}


def height(column):
    """Rows of a column as analysis/report/html/embedding.py writes it."""
    listed = column.get("codes", column) if isinstance(column, dict) else column
    return sum(listed["lengths"]) if isinstance(listed, dict) else len(listed)


def test_only_the_named_sessions_are_written_and_the_index_links_what_is_there(results, pages, tmp_path):
    written = write(results, [BROKEN, BROKEN], tmp_path)
    assert [path.name for path in written] == [f"{BROKEN}.html", "index.html"]
    index = (tmp_path / "index.html").read_text("utf-8")
    assert re.findall(r'href="([^"]+)"', index) == [f"{BROKEN}.html"]
    assert "gpus" not in re.findall(r"<a .*?</a>", index)
    assert GPUS in index


def test_an_unknown_session_is_refused_with_the_nearest_name_and_nothing_is_written(results, tmp_path):
    with pytest.raises(AnalysisError, match=f"did you mean {SCALING}"):
        write(results, [f"{SCALING[:-1]}x"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_without_a_database_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(AnalysisError, match="bench load"):
        write(tmp_path, [], tmp_path / "out")
