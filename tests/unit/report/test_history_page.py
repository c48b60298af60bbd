"""The page of a suite over its sessions, and `bench history`, which says the same on a terminal."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import polars as pl
import pytest
from click.testing import CliRunner

from analysis.database import connections
from analysis.report.html.embedding import unpacked
from analysis.report.html.files import history_name, page_name
from analysis.report.pages.history import charts, data
from analysis.report.pages.history.page import history_page
from analysis.report.pages.history.wording import sentences
from bench.cli.history import command
from tests.factory import BEGAN, Case, make_session
from tests.unit.analysis.conftest import load_first

HOSTILE = "\"><script>window.hacked=1<\u2215script>&amp;\u202e'"
FASTER, SLOWER = [10.0, 10.1, 9.9], [11.1, 11.2, 11.0]


def nightly(day, step_ms, **more):
    facts = {"torch": "2.15.0" if day < 3 else "2.16.0", "commit": f"c{day}"}
    return {
        "cases": [Case(name="ddp", step_ms={1: [18.0, 18.1, 17.9], 2: step_ms}, **more)],
        "session_id": f"night{day}",
        "suite": "nightly",
        "created_at": BEGAN + timedelta(days=day),
        "environment": {"0": facts},
    }


SESSIONS = [
    *(nightly(day, FASTER) for day in range(3)),
    nightly(3, SLOWER),
    nightly(4, SLOWER),
    nightly(5, SLOWER, batch=128),
    {"cases": [Case(name="ddp", step_ms={1: 9.0})], "session_id": "alone", "suite": "once"},
    *(
        {
            "cases": [Case(name=HOSTILE, step_ms={1: 9.0, 2: [5.0 + day, 5.1 + day, 5.2 + day]})],
            "session_id": f"{HOSTILE}{day}",
            "suite": HOSTILE,
            "created_at": BEGAN + timedelta(days=day),
        }
        for day in range(2)
    ),
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Six sessions of one suite: slower from the fourth on, another batch in the last; three of other suites."""
    folder = tmp_path_factory.mktemp("history")
    for session in SESSIONS:
        make_session(folder, **session)
    assert load_first(folder).problems == ()
    return folder


@pytest.fixture(scope="module")
def histories(results):
    every = [session["session_id"] for session in SESSIONS]
    with connections.reader(results) as connection:
        return {suite: data.read(connection, suite) for suite in data.suites(connection, every)}


@pytest.fixture(scope="module")
def page(histories):
    return history_page(histories["nightly"], "", page_name)


def plain(page, start, end):
    """The words between two identifiers of sections."""
    part = page.partition(f'id="{start}"')[2].partition(f'id="{end}"')[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", part))


def test_suites_with_something_measured_twice_have_a_history(histories):
    assert set(histories) == {"nightly", HOSTILE}


def test_a_report_of_one_session_has_the_whole_history_of_its_suite(results):
    with connections.reader(results) as connection:
        assert data.suites(connection, ["night4"]) == ["nightly"]
        assert len(data.read(connection, "nightly").sessions) == 6


def test_the_sentence_at_the_top_is_of_the_newest_session_and_the_next_of_all(histories, page):
    newest, overall = sentences(histories["nightly"], str)
    assert newest == (
        "No earlier session is comparable with the newest: its settings differ (global_batch: 64 → 128)."
    )
    assert overall == (
        "6 sessions from 2026-11-21 to 2026-11-26: 1 regression beyond 2 % in 1 session, the last in session 4 "
        "(2026-11-24); 1 of 1 placement is still slower than before."
    )
    assert newest in re.sub(r"<[^>]+>", "", page)


def test_a_regression_in_the_newest_session_is_its_sentence_with_interval_and_what_changed(results):
    with connections.reader(results) as connection:
        connection.execute("CREATE TEMP TABLE history AS FROM history WHERE session_id < 'night4'")
        newest, overall = sentences(data.read(connection, "nightly"), str)
    assert re.fullmatch(
        r"The newest session is slower than before: ddp 1x2 ×0\.90\d \[0\.\d+, 0\.\d+\], of 2 placements that can be "
        r"compared; changed: torch: 2\.15\.0 → 2\.16\.0\.",
        newest,
    )
    assert overall.endswith("the last in session 4 (2026-11-24).")


def test_regressions_stand_first_with_ratio_what_changed_and_the_session_before(page):
    assert re.findall(r"<h2 id=\"(\w+)\">", page) == ["regressions", "charts", "sessions", "figures"]
    shown = plain(page, "regressions", "charts")
    assert re.search(
        r"4 · 2026-11-24 01:49 night3 ddp 1x2 0\.90\d × \[.*\] torch: 2\.15\.0 → 2\.16\.0 night2", shown
    )
    assert 'href="night3.html"' in page


def test_every_session_says_what_changed_and_what_only_is_worth_knowing(page):
    shown = plain(page, "sessions", "figures")
    assert re.search(
        r"6 · 2026-11-26 01:49 night5 2 ● ?2 unlike|2 unlike – global_batch: 64 → 128 commit: c4 → c5", shown
    )
    assert re.search(r"1 regression.*torch: 2\.15\.0 → 2\.16\.0 – commit: c2 → c3", shown)
    assert "2 for the first time" in shown


def test_charts_draw_figure_interval_changes_and_regressions_and_say_how_to_read_them(page):
    found = r'<figure class="chart wide" id="(\w+)".*?<script type="application/json">(.*?)</script>'
    figures = re.findall(found, page, re.S)
    assert [name for name, _ in figures] == ["over_sessions_throughput", "over_sessions_efficiency"]
    views = [unpacked(payload)["views"] for _, payload in figures]
    assert [len(view) for view in views] == [2, 1]
    drawn = json.dumps(views[0][0])
    assert '"relative_lo"' in drawn
    assert '"strokeDash": [3, 3]' in drawn
    assert '"color": "var(--bad)"' in drawn
    assert "var(--bad)" not in json.dumps(views[1])  # a regression is of throughput
    columns = unpacked(figures[0][1])["columns"]
    assert {"relative", "relative_lo", "marked", "regression"} <= set(columns)


def test_the_table_has_every_figure_and_its_csv(page):
    assert plain(page, "figures", "</main>").count("2026-11-2") >= 12
    assert 'data-csv="history"' in page
    assert "CSV: every figure, 12 rows" in page


def test_hostile_names_are_text(histories):
    made = history_page(histories[HOSTILE], "", lambda _: None)
    markup = re.sub(r'<script type="application/json"[^>]*>.*?</script>', "", made, flags=re.S)
    markup = re.sub(r"<script>.*?</script>", "", markup, flags=re.S)
    assert "<script" not in markup
    assert "hacked" in markup


def test_of_many_cases_those_that_changed_most_are_drawn(histories):
    points = histories["nightly"].points
    many = [points.with_columns(panel=pl.lit(f"case {number}")) for number in range(20)]
    calm = [rows.with_columns(ratio=1.0, regression=False) for rows in many[:15]]
    rows = pl.concat([*calm, *many[15:]], how="vertical_relaxed")
    kept = charts._kept(rows)
    assert len(kept) == charts.MOST_PANELS
    assert kept[-5:] == [f"case {number}" for number in range(15, 20)]


@pytest.mark.parametrize("suite", ["nightly", "a b", "..", "index", "x" * 300, HOSTILE])
def test_the_name_of_a_history_is_safe_and_no_sessions(suite):
    name = history_name(suite)
    assert re.fullmatch(r"history-[A-Za-z0-9._-]{1,140}\.html", name)
    assert name not in (page_name(suite), page_name(name.removesuffix(".html")))


def test_the_command_prints_each_placement_over_time_and_ends_with_the_sentence(results):
    asked = CliRunner().invoke(command, ["nightly", "--results", str(results)], standalone_mode=False)
    assert asked.exit_code == 0, asked.exception
    lines = asked.output.splitlines()
    slower = [line for line in lines if "slower: regression" in line]
    assert len(slower) == 1
    assert re.search(r"^ddp +1x2 +2026-11-24 01:49 .*torch: 2\.15\.0 → 2\.16\.0 +night3", slower[0])
    assert [line.split()[1] for line in lines if line.startswith("ddp")] == ["1x1"] * 6 + ["1x2"] * 6
    assert lines[-1].startswith("No earlier session is comparable with the newest")


def test_the_command_shows_the_last_sessions_or_the_regressions_alone(results):
    few = CliRunner().invoke(
        command, ["nightly", "--last", "2", "--results", str(results)], standalone_mode=False
    )
    assert few.output.count("night") - few.output.count("nightly") == 4
    assert "4 earlier sessions are not shown: --last 6 shows all" in few.output
    only = CliRunner().invoke(
        command, ["nightly", "--regressions", "--results", str(results)], standalone_mode=False
    )
    assert [line.split()[-1] for line in only.output.splitlines() if line.startswith("ddp")] == ["night3"]


def test_a_suite_that_there_is_not_is_an_error_that_names_those_that_are(results):
    asked = CliRunner().invoke(command, ["weekly", "--results", str(results)], standalone_mode=False)
    assert "no session of the suite 'weekly'; there are nightly" in str(asked.exception)


def test_throughputs_of_each_case_have_their_own_axis_and_ratios_share_one(histories):
    rows = histories["nightly"].points
    drawn = charts._draw_throughput(rows, rows.get_column("panel").unique().to_list())
    scales = {label: view.to_dict().get("resolve", {}).get("scale") for label, view in drawn.views.items()}
    assert scales == {"over the first session with these settings": None, "examples/s": {"y": "independent"}}
