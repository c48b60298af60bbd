"""The page of a suite over its sessions, and `bench history`, which says the same on a terminal."""

from __future__ import annotations

import html
import json
import re
from datetime import timedelta

import polars as pl
import pytest
from click.testing import CliRunner

from analysis.database import connections
from analysis.loading.load import load
from analysis.report.html.embedding import unpacked
from analysis.report.html.files import history_name, page_name
from analysis.report.pages.history import charts, data
from analysis.report.pages.history.page import history_page
from analysis.report.pages.history.wording import sentences
from bench.cli.history import command
from tests.factory import BEGAN, Case, make_session
from tests.unit.analysis.conftest import loads

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
    assert load(folder).problems == ()
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


def test_the_headline_is_of_the_newest_session_and_the_last_line_of_all(histories, page):
    first, overall = sentences(histories["nightly"], str)
    assert first == (
        "No earlier session is comparable with the newest: its settings differ (global_batch: 64 → 128)."
    )
    assert overall == (
        "6 sessions from 2026-11-21 to 2026-11-26: 1 regression beyond 2 % in 1 session, the last in session 4 "
        "(2026-11-24); 1 of 1 placement is still slower than before."
    )
    assert first in html.unescape(re.sub(r"<[^>]+>", "", page.partition("<h1>")[2].partition("</h1>")[0]))


def test_a_regression_in_the_newest_session_is_the_headline_and_what_changed_the_next_line(results):
    with connections.reader(results) as connection:
        connection.execute("CREATE TEMP TABLE history AS FROM history WHERE session_id < 'night4'")
        first, changed, overall = sentences(data.read(connection, "nightly"), str)
    assert re.fullmatch(
        r"ddp 1x2 trains 9\.\d+ % fewer examples/s than in sessions 1 to 3; 1 other unchanged\.", first
    )
    assert changed == "Changed since session 3 (2026-11-23): torch: 2.15.0 → 2.16.0."
    assert overall.endswith("the last in session 4 (2026-11-24).")


def days(*sessions, quick=()):
    """Writes sessions of one suite a day apart, each the step times by case. Those of the days `quick` were quick."""

    def write(results, name):
        for day, times in enumerate(sessions):
            repeats = len(next(iter(next(iter(times.values())).values())))
            cases = [Case(name=case, step_ms=step_ms, repeats=repeats) for case, step_ms in times.items()]
            began = BEGAN + timedelta(days=day)
            folder = make_session(results, cases, session_id=f"{name}s{day}", suite=name, created_at=began)
            if day in quick:
                head = folder / "session.json"
                head.write_text(head.read_text("utf-8").replace('"quick": false', '"quick": true'), "utf-8")

    return write


def all_of_twelve(factor):
    """Twelve cases whose repeats vary by a thousandth or two."""
    steps = [factor * ms for ms in (10.0, 10.01, 10.02)]
    return {f"case{number:02}": {1: steps} for number in range(12)}


@pytest.fixture(scope="module")
def all_histories(shared):
    """A connection in which the view history is a table: planning them takes most of the time of a read."""
    with connections.reader(shared) as connection:
        connection.execute("CREATE TEMP TABLE history AS FROM history")
        yield connection


@pytest.fixture
def headlines(stored, all_histories):
    """The lines of the history of these sessions."""
    return sentences(data.read(all_histories, stored.session_id), str)


@loads(days(*[all_of_twelve(1.0)] * 7, all_of_twelve(1.032)))
def test_what_all_cases_share_is_one_change_in_the_headline(headlines):
    assert headlines[0] == (
        "all 12 cases are 3.1 % slower than in sessions 2 to 7: the machine, as code and software are the same."
    )
    assert headlines[-1].endswith("1 regression beyond 2 % in 1 session, the last in session 8 (2026-11-28).")


@loads(days(*[{"ddp": {2: [10.0, 10.05, 10.1]}}] * 9, *[{"ddp": {2: [10.29, 10.30, 10.31]}}] * 2))
def test_a_change_that_two_sessions_show_together_names_the_first(headlines):
    assert re.fullmatch(
        r"ddp 1x2 trains 2\.\d+ % fewer examples/s than in sessions 1 to 9, since session 10\.", headlines[0]
    )


@loads(days(*[all_of_twelve(1.0)] * 5, {**all_of_twelve(1.0), "case03": {1: [10.0, 15.0, 10.02]}}))
def test_a_placement_with_an_odd_run_is_named_as_not_judged(headlines):
    assert headlines[1].endswith("Not judged, because a run is odd: case03 1x1.")


USUAL = [10.0, 10.05, 9.95]
NOISY = [10.0, 14.0, 7.0]


def times(factor=1.0):
    return [factor * ms for ms in USUAL]


NOW = {"a": {1: times(), 2: times(0.8)}, "b": {1: times()}}


@loads(days({"a": {1: times(), 2: times()}, "b": {1: times()}}, NOW))
def test_something_faster_is_the_headline_and_the_rest_is_counted(headlines):
    first, changed, overall = headlines
    assert first == "a 1x2 trains 25 % more examples/s than in session 1; 2 others unchanged."
    assert changed == "Nothing that must be equal changed since session 1 (2026-11-21)."
    assert "no regression" in overall


def all_of(names, factor=1.0):
    return {name: {1: times(factor)} for name in names}


@loads(days(all_of("abc"), {"a": {1: times(0.8)}, "b": {1: times(1.25)}, "c": {1: times(2)}}))
def test_a_headline_has_what_is_slower_before_what_is_faster(headlines):
    assert headlines[0] == (
        "c 1x1 trains 50 %, b 1x1 20 % fewer examples/s than in session 1; a 1x1 trains 25 % more examples/s."
    )


@loads(days(all_of("abcde"), all_of("abcd", 1.25) | all_of("e", 2)))
def test_many_changes_are_counted_and_the_largest_is_named(headlines):
    assert headlines[0] == "5 placements train fewer examples/s (e 1x1: 50 %) than in session 1."


@loads(
    days(
        {"a": {1: times()}, "b": {1: [10.0, 14.0, 12.0]}},
        {"a": {1: times(2)}, "b": {1: [400.0, 1000.0, 600.0]}},
    )
)
def test_what_is_too_noisy_is_slower_by_an_unknown_amount_beside_what_is_known(headlines):
    assert headlines[0] == (
        "a 1x1 trains 50 % fewer examples/s; b 1x1 trains fewer examples/s (too noisy to tell how many) than in "
        "session 1."
    )


@loads(days(all_of("a"), all_of("a"), all_of("a"), quick=[2]))
def test_a_quick_session_after_full_ones_is_compared_with_none(headlines):
    assert headlines[0] == (
        "No earlier session is comparable with the newest: it is a quick session, and every earlier one was full."
    )


SAME = {"a": {1: times(), 2: times()}}
OPEN = {"a": {1: times(), 2: NOISY}}


@loads(days(SAME, SAME))
def test_nothing_changed_is_said_if_every_placement_is_the_same(headlines):
    first, _, _ = headlines
    assert first == "Nothing changed since session 1: both placements are as fast within 2 %."


def _second_size_fails(results, name):
    """In the second session no repeat of 2 ranks is ok, as none of 4 ranks was in either session."""
    for day, failing in enumerate(((4,), (2, 4))):
        statuses = {(n, repeat): "failed" for n in failing for repeat in range(3)}
        case = Case(name="a", step_ms={1: times(), 2: times(), 4: times()}, statuses=statuses)
        began = BEGAN + timedelta(days=day)
        make_session(results, [case], session_id=f"{name}s{day}", suite=name, created_at=began)


@loads(_second_size_fails)
def test_a_placement_that_ran_before_and_fails_now_is_a_change(headlines):
    assert headlines[0] == "a 1x2 has no ok repeat, unlike in session 1; 1 other unchanged."


@loads(days(OPEN, OPEN))
def test_nothing_changed_is_not_said_if_one_placement_is_open(headlines):
    first, _, open_ones, _ = headlines
    assert first == "No change beyond 2 % is certain since session 1: 1 of 2 placements unchanged."
    assert re.fullmatch(r"Undecided: whether a 1x2 .* changed by more than 2 %\.", open_ones)


@loads(days({"a": {1: NOISY}}, {"a": {1: [1.2 * ms for ms in NOISY]}}))
def test_noise_changes_nothing_for_certain(headlines):
    first, _, open_ones, _ = headlines
    assert first == "No change beyond 2 % is certain since session 1."
    assert "a 1x1" in open_ones


@loads(days({"a": {1: [10.0]}}, {"a": {1: [20.0]}}))
def test_single_repeats_change_nothing_for_certain(headlines):
    first, _, open_ones, _ = headlines
    assert first == "No change beyond 2 % is certain since session 1."
    assert open_ones.startswith(
        "Undecided: whether a 1x1 (0.500×) changed by more than 2 %. None has an interval"
    )


@loads(days({"a": {1: [10.0, 10.01, 9.99]}}, {"a": {1: [10.15, 10.16, 10.14]}}))
def test_a_loss_that_is_certainly_below_2_percent_is_decided(headlines):
    assert headlines[0] == "Nothing changed since session 1: its one placement is as fast within 2 %."
    assert not any(line.startswith("Undecided") for line in headlines)


@loads(days({"a": {1: [10.0, 10.045, 9.955]}}, {"a": {1: [10.15, 10.195, 10.105]}}))
def test_a_small_loss_is_undecided_and_no_headline(headlines):
    first, _, open_ones, _ = headlines
    assert first == "No change beyond 2 % is certain since session 1."
    assert re.fullmatch(r"Undecided: whether a 1x1 \(0\.985× \[.*\]\) changed by more than 2 %\.", open_ones)


@loads(days(all_of("a")))
def test_one_session_has_nothing_to_compare(headlines):
    assert headlines == [
        "One session so far, so there is nothing to compare it with.",
        "1 session on 2026-11-21: no regression beyond 2 % is certain.",
    ]


def test_a_regression_has_its_ratio_what_changed_and_the_session_before(page):
    assert re.findall(r"<h2 id=\"(\w+)\">", page) == [
        "charts",
        "newest",
        "regressions",
        "sessions",
        "efficiency",
        "figures",
    ]
    shown = plain(page, "regressions", "sessions")
    assert re.search(
        r"4 · 2026-11-24 01:49 night3 ddp 1x2 0\.90\d× \[.*\] 1 to 3 4 torch: 2\.15\.0 → 2\.16\.0", shown
    )
    assert 'href="night3.html"' in page


def test_every_session_says_what_changed_and_what_only_is_worth_knowing(page):
    shown = plain(page, "sessions", "efficiency")
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
    assert kept[:5] == [f"case {number}" for number in range(15, 20)]


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
    assert re.search(r"^ddp +1x2 +4 +2026-11-24 01:49 .*torch: 2\.15\.0 → 2\.16\.0 +night3", slower[0])
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
    rows = histories["nightly"].points.with_columns(panel_count=1)
    drawn = charts._draw_throughput(rows, rows.get_column("panel").unique().to_list())
    scales = {label: view.to_dict().get("resolve", {}).get("scale") for label, view in drawn.views.items()}
    assert scales == {"over the first session with these settings": None, "examples/s": {"y": "independent"}}
