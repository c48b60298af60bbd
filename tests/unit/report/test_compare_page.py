"""The page that compares sessions, and the links to it."""

from __future__ import annotations

import functools
import html
import re
from datetime import timedelta
from types import SimpleNamespace

import pytest

from analysis.database import connections
from analysis.errors import AnalysisError
from analysis.report import write
from analysis.report.html.embedding import unpacked
from analysis.report.html.files import compare_name, page_name
from analysis.report.pages.comparison.existing import found
from analysis.report.pages.comparison.ratios import sentence
from tests.factory import BEGAN, Case, make_session
from tests.unit.report.conftest import comparison

OLD, NEW, GPUS = "20261121T014925Z-smoke-000a", "20261122T014925Z-smoke-000b", "20261123T014925Z-big-000c"
HOSTILE = "<\u2215title>\"'><script>window.hacked=1<\u2215script>\u202e"
STEPS = [[10.0, 10.1, 9.9], [9.0, 9.1, 8.9]]


def case(name, step_ms, **more):
    return Case(name=name, step_ms=step_ms, **more)


def write_sessions(results):
    """Two sessions of one suite, one on GPUs, one with a hostile name, and two of many cases."""
    old = [
        case("single", {1: 20.0}, strategy="single", scaling="none"),
        case("ddp", {1: 20.0, 2: STEPS[0]}),
        case("gone", {1: 5.0}),
    ]
    new = [
        case("single", {1: 20.0}, strategy="single", scaling="none"),
        case("ddp", {1: 20.0, 2: STEPS[1], 4: 6.0}, precision="bf16", statuses={(4, 0): "oom"}),
    ]
    facts = {"hostname": "node-a", "torch": "2.15.0"}
    make_session(results, old, session_id=OLD, environment={"0": facts})
    later = BEGAN + timedelta(days=1)
    make_session(
        results, new, session_id=NEW, created_at=later, environment={"0": {**facts, "hostname": "node-b"}}
    )
    gpus = [case("ddp", {1: 2.0, 2: [1.0, 1.1, 1.2]}, device_type="cuda")]
    make_session(results, gpus, session_id=GPUS, suite="big", created_at=BEGAN + timedelta(days=2))
    make_session(results, [case(HOSTILE, {1: 9.0, 2: 5.0})], session_id=HOSTILE, suite=HOSTILE)
    for session, factor in (("many_old", 1.0), ("many_new", 1.01)):
        cases = [case(f"c{n}", {1: 5.0 * factor**n}, repeats=1) for n in range(20)]
        make_session(results, cases, session_id=session, suite="many")


@pytest.fixture(scope="module")
def compared(shared):
    return shared


@pytest.fixture(scope="module")
def page_of(compared):
    """`page_of(sessions...)`: HTML of their comparison, without scripts."""

    @functools.cache
    def read(*sessions):
        return re.sub(r"<script>.*?</script>", "", comparison(compared, sessions), flags=re.S)

    return read


@pytest.fixture(scope="module")
def written(compared, tmp_path_factory):
    """The paths of a comparison with its sessions, and those of a later report into the same folder."""
    out = tmp_path_factory.mktemp("out")
    return write(compared, [OLD, NEW], out, compare=True), write(compared, [GPUS], out)


def plain(page, start, end):
    """The words between two identifiers of sections."""
    part = page.partition(f'id="{start}"')[2].partition(f'id="{end}"')[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", part)).split())


def verdicts(page):
    shown = re.findall(r'<p class="verdict"><bdi>(.*?)</bdi>', page)
    return [html.unescape(said) for said in shown]


def test_a_sentence_says_how_the_most_telling_size_compares_and_how_all_were_judged(page_of):
    assert verdicts(page_of(OLD, NEW)) == [
        "B against A: throughput of ddp at 2 ranks 1.11× [1.08, 1.14], faster; of 3 rows 1 faster, 2 same."
    ]


def test_the_first_named_is_the_baseline(page_of):
    assert verdicts(page_of(NEW, OLD))[0].startswith(
        "B against A: throughput of ddp at 2 ranks 0.900× [0.879, 0.922], slower"
    )


def test_every_further_session_is_a_candidate_of_its_own(page_of):
    page = page_of(OLD, NEW, GPUS)
    said = verdicts(page)
    assert [sentence[:11] for sentence in said] == ["B against A", "C against A"]
    assert "faster; all 2 rows are faster." in said[1]
    assert plain(page, "ratios", "charts").count("against A") == 2


def test_sessions_without_a_common_size_get_no_ratio(page_of):
    page = page_of(OLD, HOSTILE)
    assert verdicts(page) == [
        "B against A: no case in common has an ok run at the same size in both, so there is no ratio."
    ]
    assert "B and A have no case at the same size in common." in page
    assert page.count("<figure") == 0  # there is nothing to compare


def test_the_table_has_a_row_per_common_case_and_placement(page_of):
    rows = plain(page_of(OLD, NEW), "ratios", "charts")
    assert "ddp 1x2 1.11× [1.08, 1.14] faster < 0.001 6,400 7,111 3, 3" in rows.replace("\u00a0", " ")
    assert "1x4" not in rows
    assert "gone" not in rows


def test_settings_that_differ_are_marked_and_the_equal_ones_are_counted_and_folded(page_of):
    shown = plain(page_of(OLD, NEW), "settings", "environment")
    differ, _, equal = shown.partition("equal settings")
    assert "train.precision ddp fp32 differs: ◆ bf16" in differ
    assert "train.learning_rate" not in differ
    assert "train.learning_rate all" in equal


def test_facts_of_the_machine_that_differ_are_marked(page_of):
    shown = plain(page_of(OLD, NEW), "environment", "alone")
    differ, _, equal = shown.partition("equal fact")
    assert "hostname node-a differs: ◆ node-b" in differ
    assert "torch 2.15.0" in equal


def test_cases_and_sizes_that_one_session_has_alone_are_named(page_of):
    shown = plain(page_of(OLD, NEW), "alone", "coverage")
    assert "A has case gone" in shown
    assert "B has ddp at 1x4" in shown


def test_what_failed_stands_there_for_each_session(page_of):
    shown = plain(page_of(OLD, NEW), "coverage", "vega-config")
    assert "All 12 planned runs are ok." in shown
    assert "11 of 12 planned runs are ok." in shown
    assert "CUDA out of memory" in shown


def test_unlike_sessions_say_first_of_all_what_differs(page_of):
    said = html.unescape(re.sub(r"<[^>]+>", "", page_of(OLD, GPUS).partition('class="verdict"')[0]))
    assert "These sessions differ." in said
    assert "suite: A smoke · B big" in said
    assert "NVIDIA H200" in said.partition("These sessions differ.")[2]


def test_curves_have_a_colour_per_session_and_a_panel_per_case(page_of):
    figures = re.findall(r'<figure.*?id="(\w+)".*?json">(.*?)</script>', page_of(OLD, NEW), re.S)
    assert [name for name, _ in figures] == [
        "forest",
        "throughput",
        "speedup",
        "efficiency",
        "training_loss",
        "validation_accuracy",
    ]
    ratios = unpacked(figures[0][1])["columns"]
    assert ratios["label"] == {"values": ["single 1x1", "ddp 1x1", "ddp 1x2"], "codes": [0, 1, 2]}
    assert ratios["verdict"]["values"] == ["same", "faster"]
    payload = unpacked(figures[1][1])
    assert payload["columns"]["session"]["values"] == ["A smoke-000a", "B smoke-000b"]
    assert payload["columns"]["panel"]["values"] == ["single", "ddp"]


def test_the_sql_beside_a_chart_gives_the_sessions_rows(page_of, compared):
    page = page_of(OLD, NEW)
    for name, code in re.findall(r'<figure[^>]*id="(\w+)".*?<code>(.*?)</code>', page, re.S)[1:]:
        with connections.reader(compared) as connection:
            assert connection.sql(html.unescape(code)).fetchall(), name


def test_of_many_cases_those_whose_throughput_differs_most_are_drawn(page_of):
    page = page_of("many_old", "many_new")
    payload = unpacked(re.search(r'id="throughput".*?json">(.*?)</script>', page, re.S)[1])
    assert payload["columns"]["panel"]["values"] == [f"c{n}" for n in range(8, 20)]
    assert "Drawn: the 12 of 20 cases whose throughput differs most" in page


def test_hostile_names_are_text_and_the_page_is_found_again(page_of, compared, tmp_path):
    page = page_of(HOSTILE, OLD)
    markup = re.sub(r'<script type="application/json"[^>]*>.*?</script>', "", page, flags=re.S)
    assert "<script" not in markup
    assert "hacked" in markup
    assert markup.count("<title>") == 1
    (tmp_path / compare_name([HOSTILE, OLD])).write_text(page, "utf-8")
    assert found(tmp_path) == {compare_name([HOSTILE, OLD]): [HOSTILE, OLD]}


def test_a_comparison_is_written_beside_the_pages_of_its_sessions(written):
    names = [path.name for path in written[0]]
    assert names == [
        page_name(OLD),
        page_name(NEW),
        "history-smoke.html",
        compare_name([OLD, NEW]),
        "index.html",
    ]
    assert found(written[0][0].parent) == {compare_name([OLD, NEW]): [OLD, NEW]}


def test_a_later_report_into_the_folder_still_lists_the_comparison(written):
    index = written[1][-1].read_text("utf-8")
    title = "The suite smoke: B (2026-11-22) against A (2026-11-21)"
    assert f'<a href="{compare_name([OLD, NEW])}"><bdi>{title}</bdi></a>' in index
    assert f"A <bdi>{OLD}</bdi> · B <bdi>{NEW}</bdi>" in index


def test_the_pages_of_the_sessions_lead_to_the_comparison_and_back(written):
    (*pages, _, path, _), (other, _) = written
    for page in pages:
        assert f'href="{path.name}"' in page.read_text("utf-8")
        assert f'href="{page.name}"' in path.read_text("utf-8")
    assert path.name not in other.read_text("utf-8")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "<meta name=scalebench-compare content='not JSON'>",
        '<meta name="scalebench-compare" content="[1, 2]">',
        '<meta name="scalebench-compare" content="[&quot;a&quot;, &quot;b&quot;]">',
    ],
)
def test_a_file_that_only_looks_like_a_comparison_is_not_listed(tmp_path, content):
    (tmp_path / "compare-0123456789ab.html").write_text(content)
    assert found(tmp_path) == {}


@pytest.mark.parametrize("sessions", [[], [OLD], [OLD, OLD]])
def test_fewer_than_two_sessions_are_refused_and_nothing_is_written(compared, tmp_path, sessions):
    with pytest.raises(AnalysisError, match="two different sessions or more"):
        write(compared, sessions, tmp_path / "out", compare=True)
    assert not (tmp_path / "out").exists()


def test_the_order_and_the_sessions_make_the_name():
    assert compare_name(["a", "b"]) == compare_name(["a", "b"])
    assert len({compare_name(ids) for ids in (["a", "b"], ["b", "a"], ["a", "b", "c"], ["a, b"])}) == 4
    assert re.fullmatch(r"compare-[0-9a-f]{12}\.html", compare_name([HOSTILE, "x" * 999]))


@pytest.mark.parametrize("session", ["compare-0123456789ab", "COMPARE-x", "compare-"])
def test_no_session_takes_the_name_of_a_comparison(session):
    assert not re.fullmatch(r"compare-[0-9a-f]{12}\.html", page_name(session).lower())


def ratio_row(ratio, low, high, verdict, workers=2):
    return {
        "case_name": "ddp", "axis": "ranks", "scaling_mode": "strong", "workers": workers, "candidate_throughput": 9.0,
        "ratio": ratio, "ratio_lo": low, "ratio_hi": high, "verdict": verdict, "placement": "1x2",
        "regression": ratio < 0.9 and verdict == "slower", "verdict_text": verdict, "shared_ratio": None,
        "change_seen": 0.1,
    }  # fmt: skip


def said_of(*rows):
    return sentence(SimpleNamespace(letter="A"), SimpleNamespace(letter="B"), rows)


def test_a_ratio_that_is_surely_not_1_does_not_read_like_1():
    said = said_of(ratio_row(1.0011, 1.0002, 1.0021, "faster"))
    assert "1.0011× [1.0002, 1.0021], faster" in said
    assert "1.00× [1.00, 1.00]" in said_of(ratio_row(1.0, 1.0, 1.0, "same"))


def test_where_nothing_is_certain_that_is_said_first_and_once():
    rows = [ratio_row(0.3, 0.1, 1.3, "inconclusive", workers) for workers in (1, 2)]
    assert said_of(*rows).startswith("B against A: none of 2 rows differs for certain; ")


def test_the_worst_regression_is_named_with_the_number_of_others():
    said = said_of(ratio_row(0.8, 0.78, 0.82, "slower"), ratio_row(0.7, 0.68, 0.72, "slower", 4))
    assert said.endswith(". Regression beyond 5 %: ddp 1x2 0.700× [0.680, 0.720] and 1 more.")
