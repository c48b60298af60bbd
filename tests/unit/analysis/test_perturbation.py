"""Table `perturbation` on pairs of steps that were made up."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from analysis import summary
from analysis.database import connections
from analysis.report.pages.session_data import read
from analysis.report.sections.overhead_table import perturbation as shown_on_the_page
from analysis.wording import recorder_overhead
from tests.factory import Case, make_session
from tests.selfcheck_rows import add_selfcheck
from tests.unit.analysis.conftest import Stored
from tests.unit.report.test_session_page import rows_of, words

SESSION = "perturbation"
BARE_MS = 10.0


def added_us(pair: int, rank: int) -> float:
    """20 on the mean over ranks, 7 more with every pair; the ranks are 10 apart."""
    return 20 + 7 * pair + (5 if rank else -5)


def write_sessions(results: Path) -> None:
    """`found` has 11 pairs at 2 ranks and 4 at 1; the other cases have no such steps."""
    folder = make_session(
        results,
        [
            Case(name="found", step_ms={1: 20.0, 2: BARE_MS}, repeats=2),
            Case(name="off", step_ms={1: 20.0}, measure={"selfcheck": 0}),
            Case(name="short", step_ms={1: 20.0}),
            Case(name="late", step_ms={1: 20.0}, statuses={(1, 0): "failed"}),
            Case(name="broken", step_ms={1: 20.0}, statuses={(1, 0): "failed", (1, 1): "failed", (1, 2): "failed"}),
        ],
        session_id=SESSION,
        suite=SESSION,
    )  # fmt: skip
    add_selfcheck(folder / "found.1x2.r0", pairs=11, bare_ms=BARE_MS, added_us=added_us)
    add_selfcheck(folder / "found.1x1.r0", pairs=4, bare_ms=BARE_MS, added_us=lambda pair, rank: -3.0)


@pytest.fixture
def stored(shared):
    return Stored(shared, SESSION)


AT_2 = "FROM perturbation WHERE session_id = $session AND case_name = 'found' AND workers = 2"


def test_what_measuring_adds_is_the_median_over_pairs_of_means_over_ranks(stored):
    (row,) = stored.ask(AT_2)
    assert (row["pairs"], row["steps"], row["bare_step_ms"]) == (11, 22, BARE_MS)
    assert row["difference_us"] == pytest.approx(20 + 7 * 5)
    assert row["share"] == pytest.approx(0.0055)
    assert row["left_out"] is None


def test_its_interval_lies_between_two_of_the_pairs_differences(stored):
    (row,) = stored.ask(AT_2)
    # of 11 sorted values, the second and the tenth enclose the median with 98.8 %, the third and the ninth with 93.5
    # %
    assert (row["difference_us_lo"], row["difference_us_hi"]) == pytest.approx((20 + 7, 20 + 7 * 9))
    assert (row["share_lo"], row["share_hi"]) == pytest.approx((0.0027, 0.0083))


def test_too_few_pairs_have_a_figure_and_no_interval(stored):
    (row,) = stored.ask(AT_2.replace("workers = 2", "workers = 1"))
    assert (row["pairs"], row["difference_us"]) == (4, pytest.approx(-3.0))
    assert (row["difference_us_lo"], row["difference_us_hi"], row["share_lo"]) == (None, None, None)


def test_where_nothing_was_measured_everything_is_null_but_the_reason(stored):
    nothing = stored.ask("FROM perturbation WHERE session_id = $session AND pairs = 0")
    rows = {row["case_name"]: row for row in nothing}
    assert {name: row["left_out"] for name, row in rows.items()} == {
        "late": "first repeat not ok", "off": "switched off", "short": "too short"
    }  # fmt: skip
    for row in rows.values():
        assert {row[name] for name in row if name.endswith(("_ms", "_us", "_lo", "_hi"))} == {None}


def test_these_steps_are_in_no_other_figure(stored):
    found = "WHERE session_id = $session AND case_name = 'found'"
    counts = stored.ask(f"SELECT DISTINCT measured_steps FROM run_summary {found}")
    kinds = stored.ask("SELECT DISTINCT kind FROM steps WHERE session_id = $session ORDER BY kind")
    assert counts == [{"measured_steps": 10}]
    assert [row["kind"] for row in kinds] == ["measured", "warmup"]


SAID = "Cost of measuring: 55.0 µs a step [27.0, 83.0], 0.550 % of 10.0 ms (found 1x2)."


def test_a_session_ends_with_what_measuring_cost_and_json_has_all_rows(stored):
    out = Console(file=io.StringIO(), width=200)
    summary.show(*stored, out=out)
    assert SAID in out.file.getvalue().splitlines()
    rows = summary.answer(*stored)["perturbation"]
    assert [(row["case_name"], row["workers"], row["pairs"]) for row in rows] == [
        ("found", 1, 4), ("found", 2, 11), ("off", 1, 0), ("short", 1, 0), ("late", 1, 0)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def page(shared):
    with connections.reader(shared) as connection:
        return shown_on_the_page(read(connection, SESSION).rows("perturbation"))


def test_the_page_has_a_row_for_each_size_of_which_it_was_measured(page):
    assert SAID in words(page)
    assert rows_of(page)[1:] == [
        "found 1x1 10.0 ms −3.00 µs −0.0300 % 4",
        "found 1x2 10.0 ms 55.0 µs [27.0, 83.0] 0.550 % [0.270, 0.830] 11",
    ]


def left_out(*reasons):
    return [{"pairs": 0, "share_lo": None, "left_out": reason} for reason in reasons]


def test_the_page_says_how_many_sizes_were_not_measured_and_why(page):
    assert (
        "Not measured for 1 size: too few steps, for 1 size: switched off, for 1 size: the first repeat is not ok."
        in words(page)
    )


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (
            ["too short"] * 8,
            "Cost of measuring: not measured, too few steps for an interval; use --selfcheck. Not measured for 8 "
            "sizes: too few steps.",
        ),
        (["switched off"], "Not measured for 1 size: switched off."),
        ([None, None], ""),  # a session from before this table
        ([], ""),
    ],
)
def test_a_page_without_such_steps_says_why_where_that_is_known(reasons, said):
    assert words(shown_on_the_page(left_out(*reasons))).strip() == said


def known(low, high, bare_ms=10.0, pairs=50):
    """A row whose difference has these ends."""
    ends = {
        "share_lo": low / bare_ms / 1e3, "share_hi": high / bare_ms / 1e3,
        "difference_us_lo": low, "difference_us_hi": high,
    }  # fmt: skip
    middle = (low + high) / 2
    place = {"case_name": "a", "placement": "1x1", "bare_step_ms": bare_ms, "pairs": pairs, "left_out": None}
    return place | ends | {"difference_us": middle, "share": middle / bare_ms / 1e3}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([known(13.0, 17.0)], ["Cost of measuring: 15.0 µs a step [13.0, 17.0], 0.150 % of 10.0 ms (a 1x1)."]),
        ([known(900.0, 1_300.0)], ["Cost of measuring: 1.10 ms a step [0.90, 1.30], 11.0 % of 10.0 ms (a 1x1)."]),
        (
            [known(-40.0, 60.0), known(-80.0, 90.0)],
            [
                "Cost of measuring: within the noise of 50 pairs of steps: "
                "10.0 µs a step [−40.0, 60.0] of 10.0 ms (a 1x1)."
            ],
        ),
        (
            [known(-8_600.0, 15_212.0, bare_ms=53.2, pairs=12)],
            [
                "Cost of measuring: within the noise of 12 pairs of steps: "
                "3.3 ms a step [−8.6, 15.2] of 53.2 ms (a 1x1)."
            ],
        ),
        (
            [known(-40.0, -20.0)],
            [
                "Cost of measuring: none found by 50 pairs of steps: −30.0 µs a step [−40.0, −20.0] of 10.0 ms (a 1x1)."
            ],
        ),
        (left_out("switched off"), []),
        (
            [{"pairs": 4, "share_lo": None, "left_out": None}],
            [
                "Cost of measuring: not known, fewer than six pairs of steps have no interval; use --selfcheck."
            ],
        ),
        (
            left_out("too short"),
            [
                "Cost of measuring: not measured, too few steps for an interval; use --selfcheck."
            ],
        ),
    ],
)  # fmt: skip
def test_what_is_said_is_what_the_interval_supports(rows, said):
    assert list(recorder_overhead.lines(rows)) == said
