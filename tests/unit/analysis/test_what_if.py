"""Table `what_if` on rounds of steps that were made up, and its sentences."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
from rich.console import Console

from analysis import summary
from analysis.database import connections
from analysis.report.pages.session_data import read
from analysis.wording import what_if
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import Stored
from tests.wire_rows import add_wire_steps

SESSION, BOUNDS = "what_if", "what_if_bounds"
DDP, FSDP = (0.0, 0.5, 1.0, 2.0), (1.0, 2.0, 4.0)


def overlapping(factor: float, extra: float = 0.0) -> float:
    """10 ms of computation; 8 ms for the messages, of which 2 ms are hidden by it."""
    return 10 + max(0.0, (8 + extra) * factor - 2)


def write_sessions(results: Path) -> None:
    """In SESSION `ddp` has three repeats whose networks differ, `alone` one, `sharded` no shorter messages, `wild`
    noise. In BOUNDS `noisy` has two repeats in which longer messages took less time by chance, `short` three rounds."""
    folder = make_session(
        results,
        [
            Case(name="ddp", step_ms={2: 16.0, 4: 16.0}),
            Case(name="alone", step_ms={2: 16.0}, repeats=1),
            Case(name="sharded", strategy="fsdp", step_ms={2: 16.0}, repeats=1),
            Case(name="wild", step_ms={2: 16.0}, repeats=1),
            Case(name="without", step_ms={2: 16.0}, repeats=1),
        ],
        session_id=SESSION,
        suite=SESSION,
    )
    for repeat in range(3):
        # odd ranks have less to do, and wait for others in messages; a slow round slows all of its steps alike
        add_wire_steps(
            folder / f"ddp.1x4.r{repeat}", factors=DDP, rounds=9,
            step_ms=lambda factor, number, rank, repeat=repeat: (
                (overlapping(factor, repeat) - (5 if rank % 2 and not factor else 0)) * (3 if number == 4 else 1)
            ),
        )  # fmt: skip
    add_wire_steps(
        folder / "alone.1x2.r0", factors=DDP, rounds=9,
        step_ms=lambda factor, number, _rank: overlapping(factor) + (number / 10 if factor != 1 else 0),
    )  # fmt: skip
    add_wire_steps(
        folder / "sharded.1x2.r0", factors=FSDP, rounds=9,
        step_ms=lambda factor, _number, _rank: overlapping(factor),
    )  # fmt: skip
    add_wire_steps(
        folder / "wild.1x2.r0", factors=DDP, rounds=9,
        step_ms=lambda factor, number, _rank: 10.0 if factor == 1 else 10.0 * 2.0 ** (number - 4),
    )  # fmt: skip
    cases = [
        Case(name="noisy", strategy="fsdp", step_ms={2: 16.0}, repeats=2),
        Case(name="short", strategy="fsdp", step_ms={2: 16.0}, repeats=1),
    ]
    folder = make_session(results, cases, session_id=BOUNDS, suite=BOUNDS)
    for repeat, longer_ms in enumerate((9.9, 9.0)):
        add_wire_steps(
            folder / f"noisy.1x2.r{repeat}", factors=FSDP, rounds=9,
            step_ms=lambda factor, _number, _rank, longer_ms=longer_ms: 10.0 if factor == 1 else longer_ms,
        )  # fmt: skip
    add_wire_steps(
        folder / "short.1x2.r0", factors=FSDP, rounds=3,
        step_ms=lambda factor, _number, _rank: overlapping(factor),
    )  # fmt: skip


@pytest.fixture
def results(shared: Path) -> Stored:
    return Stored(shared, SESSION)


@pytest.fixture
def bounds(shared: Path) -> Stored:
    return Stored(shared, BOUNDS)


def row_of(results: Stored, case: str, factor: float) -> dict[str, object]:
    (row,) = results.ask(
        f"FROM what_if WHERE session_id = $session AND case_name = '{case}' AND message_factor = {factor}"
    )
    return row


def test_a_step_is_compared_with_the_usual_one_of_its_round_and_repeats_give_the_interval(results):
    row = row_of(results, "ddp", 0.5)
    ratios = [overlapping(0.5, extra) / overlapping(1, extra) for extra in range(3)]
    logs = [math.log(ratio) for ratio in ratios]
    mean = sum(logs) / 3
    deviation = math.sqrt(sum((log - mean) ** 2 for log in logs) / 2)
    half = 4.302653 * deviation / math.sqrt(3)
    assert row["time_ratio"] == pytest.approx(math.exp(mean))
    assert (row["time_ratio_lo"], row["time_ratio_hi"]) == pytest.approx(
        (math.exp(mean - half), math.exp(mean + half))
    )
    assert (row["speedup"], row["bandwidth"]) == (pytest.approx(math.exp(-mean)), 2)
    assert (row["repeats"], row["rounds"], row["interval_over"], row["is_bound"]) == (3, 9, "repeats", False)


def test_without_messages_there_is_no_bandwidth_and_the_slowest_rank_is_as_slow(results):
    row = row_of(results, "ddp", 0)
    assert row["bandwidth"] is None
    assert row["speedup"] == pytest.approx((1.6 * 1.7 * 1.8) ** (1 / 3))


def test_of_one_repeat_the_interval_is_over_its_rounds(results):
    row = row_of(results, "alone", 2)
    assert row["interval_over"] == "rounds"
    ratios = [(overlapping(2) + number / 10) / overlapping(1) for number in range(9)]
    # of 9 sorted values the second and the eighth enclose the median with 96.1 %
    assert (row["time_ratio"], row["time_ratio_lo"], row["time_ratio_hi"]) == pytest.approx(
        (ratios[4], ratios[1], ratios[7])
    )


def test_without_shorter_messages_twice_the_bandwidth_has_a_bound(results):
    row = row_of(results, "sharded", 0.5)
    assert row["is_bound"]
    # twice the bytes add 8 ms, so half of them save 4 ms at most: it is exact here
    assert row["time_ratio"] == pytest.approx(12 / 16) == overlapping(0.5) / overlapping(1)
    assert row["step_ms"] is None
    query = "SELECT DISTINCT case_name FROM what_if WHERE session_id = $session AND is_bound"
    assert results.ask(query) == [{"case_name": "sharded"}]


def test_noisy_repeats_leave_a_bound_its_interval(bounds: Stored) -> None:
    longer, bound = row_of(bounds, "noisy", 2), row_of(bounds, "noisy", 0.5)
    assert longer["time_ratio_hi"] == pytest.approx(
        math.sqrt(0.99 * 0.9) * (0.99 / 0.9) ** (12.7062 / 2), rel=1e-4
    )
    assert bound["time_ratio"] == bound["time_ratio_hi"] == 1
    assert bound["time_ratio_lo"] == pytest.approx(1 - (longer["time_ratio_hi"] - 1) / 2)
    assert bound["speedup_hi"] > 1.2


SHORT = "FROM what_if WHERE session_id = $session AND case_name = 'short' ORDER BY message_factor"


def test_a_bound_above_the_limit_of_every_network_says_that_limit(bounds: Stored) -> None:
    trivial = [row | {"speedup_hi": 2.0} if row["is_bound"] else row for row in bounds.ask(SHORT)]
    said = what_if.sentence(trivial)
    assert "twice the bandwidth, same latency: at most 2×, the limit of any such network; half the" in said


def test_a_bound_without_an_interval_says_about(bounds: Stored) -> None:
    assert row_of(bounds, "short", 0.5)["speedup_hi"] is None
    said = what_if.sentence(bounds.ask(SHORT))
    assert "same latency: at most about 1.33×; half the bandwidth: 0.667× " in said
    assert said.endswith("(3 rounds of one run: too few to know how certain that is).")


def test_a_case_without_such_steps_has_no_row(results):
    query = "FROM what_if WHERE session_id = $session AND (case_name = 'without' OR workers = 1)"
    assert results.ask(query) == []


def test_these_steps_are_in_no_other_figure(results):
    query = "SELECT DISTINCT measured_steps FROM run_summary WHERE session_id = $session"
    assert results.ask(query) == [{"measured_steps": 10}]


SENTENCES = [
    "Speed of ddp 1x4 on other networks: every link twice the bandwidth, same latency: 1.36× [1.30, 1.42]; no "
    "communication at all: 1.70× [1.47, 1.97].",
    "Speed of alone 1x2 on other networks: every link twice the bandwidth, same latency: 1.29× [1.26, 1.32]; no "
    "communication at all: 1.54× [1.50, 1.58] (intervals over the rounds of one run).",
    "Speed of sharded 1x2 on other networks: every link twice the bandwidth, same latency: at most 1.33×; half the "
    "bandwidth: 0.667× [0.667, 0.667] (intervals over the rounds of one run).",
    "Speed of wild 1x2 on other networks: every link twice the bandwidth, same latency: too noisy to say; no "
    "communication at all: too noisy to say (intervals over the rounds of one run).",
]


def test_the_summary_says_it_for_the_largest_size_of_each_case_and_json_has_all_rows(results):
    out = Console(file=io.StringIO(), width=300)
    summary.show(*results, out=out)
    said = [line for line in out.file.getvalue().splitlines() if line.startswith("Speed of")]
    assert said == SENTENCES
    assert len(summary.answer(*results)["what_if"]) == 3 + 3 + 3 + 3


def test_the_page_has_each_network_and_the_one_as_it_is(results):
    with connections.reader(results.results) as connection:
        rows = read(connection, SESSION).charts["what_if"].to_dicts()
    assert [row["message_factor"] for row in rows if row["case_name"] == "ddp"] == [0, 0.5, 1, 2]
    assert {row["speedup"] for row in rows if row["message_factor"] == 1} == {1}
    assert list(what_if.lines([row for row in rows if row["message_factor"] != 1])) == SENTENCES
