"""The tables of a session's page, from rows that are written down here."""

from __future__ import annotations

import html
import re
from itertools import pairwise

import polars as pl
import pytest

from analysis.report import write
from analysis.report.html.downloads import csv_download
from analysis.report.pages.session import sections
from analysis.report.sections.coverage_table import coverage
from analysis.report.sections.hardware import hardware, ranges
from analysis.report.sections.settings import hyperparameters, settings_frame
from analysis.report.sections.summary_table import ENDS, MOST_ROWS, summary
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import session_of


def words(markup: str) -> str:
    """The text of HTML, in one line."""
    apart = re.sub(r"<[^>]*>", " ", re.sub(r"</?bdi>", "", markup))
    return " ".join(html.unescape(apart).split())


def rows_of(markup: str) -> list[str]:
    return [words(row) for row in re.findall(r"<tr.*?</tr>", markup)]


def point(case="ddp", workers=2, **values):
    row = {
        "case_name": case, "placement": f"1x{workers}", "strategy": "ddp", "scaling_mode": "strong",
        "precision": "fp32",
        "global_batch": 64, "batch_per_rank": 32, "workers": workers, "runs": 3, "repeats": 3, "throughput": 100.0,
        "throughput_unit": "examples/s", "tokens_per_s": None, "tokens_per_s_lo": None, "tokens_per_s_hi": None,
        "throughput_lo": 98.0, "throughput_hi": 102.0, "is_baseline": workers == 1, "oversubscribed": False,
        "verdict": None if workers == 1 else "good", "verdict_lo": "good",
        "verdict_hi": "good", "slow_runs": 0, "resolution": None, "is_published": False,
        "rounds": None if workers == 1 else 3,
        "baseline_workers": 1, "baseline_throughput": 62.5,
        "speedup": 1.6, "speedup_lo": 1.52, "speedup_hi": 1.68, "speedup_min": None, "speedup_max": None,
        "efficiency": 0.8, "efficiency_lo": 0.76, "efficiency_hi": 0.84, "step_ms_mean": 21.18, "step_ms_std": 1.7,
        "time_per_epoch_s": None, "peak_memory_allocated_bytes": None,
    }  # fmt: skip
    return row | values


def lost(case, placement, status, reason, rank=None):
    return {
        "case_name": case, "placement": placement, "status": status, "reason": reason, "failed_rank": rank,
        "failed_node": None if rank is None else 0,
    }  # fmt: skip


def test_rows_stand_under_their_case_with_their_intervals():
    rows = rows_of(summary([point(workers=1), point(workers=2, repeats=2)]))
    assert rows[1] == "ddp ddp · strong scaling, global batch 64 · fp32"
    assert rows[3] == "1x2 1.60× [1.52, 1.68] 80.0 % [76.0, 84.0] good 2 of 3 ok 100 21.2 ms ± 1.7"


def test_no_verdict_is_told_where_the_interval_spans_more_than_two():
    rows = rows_of(summary([point(workers=1), point(workers=2, verdict="undecided")]))
    assert "80.0 % [76.0, 84.0] undecided 100" in rows[3]


def test_what_was_not_measured_is_counted_and_not_padded():
    markup = summary([point(workers=1), point(workers=2), point(workers=4, throughput=None)])
    assert "1 placement without an ok run is left out here" in words(markup)
    assert "1x4" not in markup


def test_a_single_size_has_no_columns_of_speedup():
    assert "speedup" not in summary([point(workers=1)])
    assert "speedup" in summary([point(workers=1), point(workers=2)])


def test_the_summary_of_text_has_tokens_in_place_of_examples_and_a_mixed_one_has_both():
    text = [point("lm", n, tokens_per_s=12_800.0) for n in (1, 2)]
    assert "tokens/s" in rows_of(summary(text))[0]
    assert "12,800" in rows_of(summary(text))[2]
    assert "examples/s" not in words(summary(text))
    mixed = rows_of(summary([*text, point("cnn")]))
    assert "examples/s tokens/s" in mixed[0]
    assert "100 –" in mixed[-1]


def test_of_many_rows_both_ends_of_the_ranking_stand_first_and_all_in_a_fold():
    points = [point(f"c{place:02}", n, efficiency=place / 100) for place in range(50) for n in (1, 2)]
    assert len(points) > MOST_ROWS
    shown, _, folded = summary(points).partition("<details")
    names = [row.split()[0] for row in rows_of(shown) if row.startswith("c") and "1x2" in row]
    assert names == [f"c{place}" for place in range(49, 49 - ENDS, -1)] + [
        f"c{place:02}" for place in range(9, -1, -1)
    ]
    assert "1x1" not in shown
    assert len([row for row in rows_of(folded) if row.startswith("1x")]) == len(points)


def of_cases(count):
    cases = [Case(name=f"c{place}", step_ms={1: 9.0, 2: 5.0, 4: 3.0}, repeats=1) for place in range(count)]
    return session_of(*cases)


@pytest.mark.parametrize(
    ("stored", "is_folded"),
    [(of_cases(2), False), (of_cases(MOST_ROWS // 3 + 1), True)],
    ids=["few", "many"],
    indirect=["stored"],
)
def test_a_session_of_many_placements_folds_curves_and_all_numbers_which_paper_shows(contents, is_folded):
    parts = {part.identifier: part for part in sections(contents)}
    for name in ("charts", "summary"):
        assert parts[name].folded == is_folded
        assert parts[name].printed or not is_folded
    assert not parts["findings"].folded or not is_folded


def test_equal_reasons_are_one_row_the_gravest_first():
    not_ok = [
        lost(case, place, "skipped", "needs 8 slots")
        for case in ("a", "b")
        for place in ("1x4", "1x4", "1x8")
    ]
    not_ok += [lost("a", "1x2", "failed", "boom <b>", rank=1), lost("a", "1x2", "failed", "boom <b>", rank=1)]
    planned = [{"planned": 10, "ok": 2}]
    markup = coverage(planned, not_ok)
    assert "<b>10</b> planned" in markup
    assert "0 oom 2 failed 0 timeout 0 interrupted 0 missing 6 skipped" in words(markup).replace("● ", "")
    assert rows_of(markup)[1:] == [
        "failed 2 boom <b> rank 1 on node 0 a 1x2",
        "skipped 6 needs 8 slots – a 1x4, 1x8 b 1x4, 1x8",
    ]


def test_a_long_error_shows_its_beginning_and_folds_the_whole():
    markup = coverage(
        [{"planned": 1, "ok": 0}], [lost("a", "1x1", "failed", "first " + "x" * 900 + " last", rank=0)]
    )
    shown, _, folded = markup.partition("<details")
    assert "first" in shown
    assert "last" not in shown
    assert "All 911 characters" in folded


def test_settings_that_differ_stand_beside_each_other_with_a_mark_and_the_others_once():
    settings = {name: {"train.precision": "fp32", "train.seed": "0"} for name in ("a", "b")}
    settings["c"] = {"train.precision": "bf16", "train.seed": "0"}
    rows = rows_of(hyperparameters(settings))
    assert rows == [
        "setting a b c",
        "train.precision fp32 fp32 differs: ◆ bf16",
        "part setting and value",
        "train seed 0",
    ]


def test_of_many_cases_each_value_names_some_and_counts_all():
    settings = {f"c{place}": {"lr": "1e-3" if place else "1e-4"} for place in range(20)}
    rows = rows_of(hyperparameters(settings))
    assert rows[1:3] == [
        "lr 1e-3 19: c1, c2, c3, c4, c5, c6 and 13 more",
        "lr differs: ◆ 1e-4 1: c0",
    ]
    assert settings_frame(settings).height == 20


def test_nodes_that_differ_are_told_apart_and_equal_devices_are_counted():
    facts = {"gpu0_name": "H200", "gpu1_name": "H200", "gpu0_memory_bytes": "150000000000", "driver": "580"}
    environment = [{"key": key, "value": value, "nodes": "0, 1, 2"} for key, value in facts.items()]
    environment += [
        {"key": "nccl", "value": "2.28", "nodes": "0, 1"},
        {"key": "nccl", "value": "2.27", "nodes": "2"},
        {"key": "NCCL_IB_HCA", "value": "mlx5", "nodes": "0, 1, 2"},
        {"key": "unheard_of", "value": "shown", "nodes": "0, 1, 2"},
    ]
    session = {"devices": "H200", "slots": '{"nodes": 3, "slots_per_node": 2}'}
    environment += [{"key": "hostname", "value": f"gpu-0{node}", "nodes": f"{node}"} for node in range(3)]
    rows = rows_of(hardware(session, environment, []))
    assert "hosts gpu-00, gpu-01, gpu-02 all" in rows
    assert "GPUs per node 1 × H200, 140 GiB; 1 × H200 all" in rows
    assert rows.index("Network") < rows.index("NCCL_IB_HCA mlx5 all")
    assert "NCCL differs: ◆ 2.28 0–1" in rows
    assert "NCCL differs: ◆ 2.27 2" in rows
    assert "unheard_of shown all" in rows
    assert "slots per node 2 (ranks at once) all" in rows


def test_numbers_in_a_row_are_a_range():
    assert ranges([0, 1, 2, 5, 7, 8]) == "0–2, 5, 7–8"


def test_saved_numbers_keep_every_digit():
    markup = csv_download(
        "x", pl.DataFrame({"value_ms": [0.1 + 0.2, None], "name": ["</script>", None]}), "x"
    )
    assert '"value_ms":[0.30000000000000004,null]' in markup
    assert markup.count("</script>") == 1
    assert csv_download("x", pl.DataFrame({"value_ms": []}), "x") == ""


EVERY = {(n, repeat): "skipped" for n in (4, 8) for repeat in range(3)}
HARD = {
    "skipped": [Case(name="ddp", step_ms={4: 1.0, 8: 1.0}, statuses=EVERY)],
    "run": [Case(name="one", scaling="none", step_ms={1: 9.0}, repeats=1)],
    "hebrew": [Case(name="\u05e9\u05dc\u05d5\u05dd", step_ms={1: 50.0, 2: 30.0})],
    "many": [Case(name=f"c{place}", step_ms={1: 50.0, 2: 30.0 + place}, repeats=2) for place in range(9)],
}
"""Sessions that are hard to summarise."""


def write_sessions(results):
    for name, cases in HARD.items():
        make_session(results, cases, session_id=name, suite=f"hard {name}")


@pytest.fixture(scope="module")
def page_of(shared, tmp_path_factory):
    """HTML of each of these sessions."""
    pages = write(shared, [*HARD], tmp_path_factory.mktemp("hard"))
    return {path.stem: path.read_text("utf-8") for path in pages}


def headings(page: str) -> list[str]:
    return re.findall(r'<h2 id="(\w+)"', page)


def test_where_nothing_is_ok_coverage_comes_first(page_of):
    assert headings(page_of["skipped"])[:2] == ["coverage", "notes"]
    shown = headings(page_of["run"])
    assert shown.index("charts") < shown.index("summary") < shown.index("coverage") < shown.index("notes")


def test_skipping_is_no_trouble_and_says_so_in_the_facts(page_of):
    assert 'class="trouble"' not in page_of["skipped"]
    assert "0 of 6 runs ok, 6 skipped" in page_of["skipped"]


def test_a_name_from_right_to_left_is_isolated_within_the_headline(page_of):
    said = re.search(r"<h1>(.*?)</h1>", page_of["hebrew"])[1]
    assert said.startswith(
        "<bdi>\u05e9\u05dc\u05d5\u05dd</bdi> on 2 ranks is 1.67 times as fast as on 1 rank"
    )


def test_of_many_cases_the_headline_says_the_range_and_the_table_has_both_ends(page_of):
    page = page_of["many"]
    assert "9 cases are faster, from 1.32× (<bdi>c8</bdi>) to 1.67× (<bdi>c0</bdi>)" in page
    table = page.partition('class="answer')[2].partition("</table>")[0]
    assert re.findall(r'<th scope="row"><bdi>(\w+)</bdi>', table) == ["c0", "c1", "c2", "c6", "c7", "c8"]
    assert "The 3 most and the 3 least efficient of 9 cases" in page


def test_links_within_the_page_lead_somewhere(page_of):
    for page in page_of.values():
        body = page.partition("<body>")[2]
        assert {*re.findall(r'href="#(\w+)"', body)} <= {*re.findall(r' id="([\w-]+)"', body)}


def test_headings_do_not_skip_a_level(page_of):
    for page in page_of.values():
        levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", page.partition("<body>")[2])]
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
