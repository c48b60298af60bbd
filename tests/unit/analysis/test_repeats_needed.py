"""Advice on repeats: 3 below three rounds, then a number from 3 to 20 that decides, or none on a border."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from analysis.wording import verdicts
from tests.factory import Case
from tests.unit.analysis.conftest import measured, session_of

BORDERS = np.log(sorted(verdicts.limits().values()))
ONE = [10.0, 10.1, 10.2]
NOISY = [5.6, 6.0, 5.8]


def _half(n):
    return stats.t.ppf(0.975, n - 1) / n**0.5 * (1.1 if n > 5 else 1)


def searched(deviation, rounds, distance):
    """The first number from 3 to 20 after which the interval is likely on one side of the border."""
    for more in range(3, 21):
        moves = 0.8416 * (1.25 if rounds > 5 else 1) * (1 / rounds - 1 / (rounds + more)) ** 0.5
        if deviation * (_half(rounds + more) + moves) <= distance:
            return more
    return None


@pytest.mark.parametrize(("rounds", "deviation"), [(3, 0.01), (5, 0.02), (10, 0.05), (4, 0.3)])
@pytest.mark.parametrize("distance", [0.05, 0.02, 0.004])
def test_the_number_is_the_first_that_decides_in_four_of_five_sessions(
    in_memory, rounds, deviation, distance
):
    query = "SELECT rounds_to_decide($1::DOUBLE, $2::BIGINT, $3::DOUBLE, false)"
    found = in_memory.execute(query, [deviation, rounds, distance]).fetchone()[0]
    assert found == searched(deviation, rounds, distance)


@measured(Case(name="ddp", step_ms={1: ONE, 2: NOISY}))
def test_a_verdict_needs_rounds_until_its_interval_crosses_no_border(ask):
    row = ask("FROM scaling WHERE workers = 2")[0]
    differences = np.log(ONE) - np.log(NOISY)
    assert row["verdict_lo"] != row["verdict_hi"]
    distance = np.abs(np.log(row["efficiency"]) - BORDERS).min()
    assert row["repeats_needed"] == searched(differences.std(ddof=1), 3, distance)


@measured(
    Case(name="ddp", step_ms={1: 10.0, 2: [6.0, 6.01, 6.02]}),
    Case(name="once", step_ms={1: 10.0, 2: 6.0}, repeats=1),
    Case(name="twice", step_ms={1: 10.0, 2: [6.0, 6.1]}, repeats=2),
)
def test_a_verdict_that_is_decided_needs_none_and_below_three_rounds_it_takes_three_more(ask):
    rows = ask("FROM scaling WHERE workers = 2 ORDER BY case_name")
    assert [row["repeats_needed"] for row in rows] == [0, 3, 3]


def _beside_a_quiet_case(**steps):
    """Two cases: the largest number of rounds holds for both."""
    case = Case(name="ddp", **steps)
    return session_of(case, Case(name="quiet", step_ms={1: 10.0, 4: 3.01}, repeats=case.repeats))


@pytest.mark.parametrize(
    ("ask", "options"),
    [
        (_beside_a_quiet_case(step_ms={1: [10.0, 10.6], 4: [3.0, 2.7]}, repeats=2), "--repeats 5"),
        (_beside_a_quiet_case(step_ms={1: 10.0, 4: 3.0}, repeats=1), "--repeats 4"),
        (_beside_a_quiet_case(step_ms={1: ONE, 2: [5.60, 5.55, 5.80]}), None),
    ],
    indirect=["ask"],
)
def test_one_session_names_one_number_of_repeats_or_none(ask, options):
    found = ask(
        "SELECT advice, options FROM diagnosis WHERE finding IN ('one_repeat', 'undecided', 'too_few_repeats')"
    )
    assert found
    assert {row["options"] for row in found} == {options}
    numbers = {int(number) for row in found for number in re.findall(r"Take (\d+) more", row["advice"])}
    assert numbers == (set() if options is None else {3})


@pytest.mark.parametrize(
    ("ask", "asks_for_a_quiet_machine"),
    [
        (session_of(Case(name="ddp", step_ms={1: [10.0, 10.1, 10.2], 2: [5.3, 5.5, 5.75]})), False),
        (session_of(Case(name="ddp", step_ms={1: [10.0, 10.1, 10.2], 2: [5.0, 6.0, 7.0]})), True),
    ],
    indirect=["ask"],
)
def test_a_quiet_machine_is_advised_only_if_runs_vary_by_more_than_5_percent(ask, asks_for_a_quiet_machine):
    (row,) = ask("SELECT advice FROM diagnosis WHERE finding IN ('undecided', 'too_few_repeats')")
    assert ("quiet machine" in row["advice"]) == asks_for_a_quiet_machine


CALM = [10.0, 10.02, 9.98, 10.01]


@measured(Case(name="ddp", step_ms={1: CALM, 2: 5.1, 4: [2.7, 4.5, 2.71, 2.69]}, repeats=4))
def test_an_odd_run_is_left_out_of_the_advice_because_more_rounds_pass_it_over(ask):
    """With the run of 4.5 ms, the interval is too wide for 20 further rounds; from nine on, it no longer counts."""
    row = ask("FROM scaling WHERE workers = 4")[0]
    assert len(ask("FROM odd_runs")) == 1
    assert (row["verdict"], row["repeats_needed"]) == ("undecided", 9 - 4)


@measured(
    Case(
        name="ddp",
        step_ms={1: CALM * 2 + CALM[:1], 2: 5.1, 4: [2.7, 4.5, 2.71, 2.69, 2.72, 2.68, 2.7, 2.71, 2.69]},
        repeats=9,
    )
)
def test_nine_rounds_decide_in_spite_of_an_odd_run(ask):
    row = ask("FROM scaling WHERE workers = 4")[0]
    assert len(ask("FROM odd_runs")) == 1
    assert (row["verdict"], row["repeats_needed"]) == ("excellent", 0)
