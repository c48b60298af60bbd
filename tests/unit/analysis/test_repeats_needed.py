"""Number of repeats that would decide: the macro compared with a search by scipy, and its use in the views."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from scipy import stats

from analysis.database import schema
from analysis.wording import verdicts
from tests.factory import Case
from tests.unit.analysis.conftest import measured

NOISY = [5.6, 6.4, 6.0]


def half_width(repeats, variance, other_repeats, other_variance):
    one, other = variance / repeats, other_variance / other_repeats
    df = (one + other) ** 2 / (one**2 / (repeats - 1) + other**2 / (other_repeats - 1))
    return stats.t.ppf(0.975, df) * np.sqrt(one + other)


def searched(repeats, variance, other_repeats, other_variance, wanted):
    """The smallest sufficient number of further repeats, found by trying them all."""
    more = np.arange(1, 1001)
    widths = half_width(repeats + more, variance, other_repeats + more, other_variance)
    return int(more[widths <= wanted][0]) if widths[-1] <= wanted else None


REPEATS = (2, 3, 5, 10, 1000)
VARIANCES = (1e-6, 1e-4, 1e-2, 0.3)
WANTED = (0.0005, 0.01, 0.05, 0.4)


def test_the_number_is_the_first_that_is_enough(in_memory):
    asked = [
        sides
        for sides in itertools.product(REPEATS, VARIANCES, REPEATS, (0.0, *VARIANCES), WANTED)
        if half_width(*sides[:4]) > sides[4]
    ]
    found = [
        in_memory.execute("SELECT more_units($2, $1, $4, $3, $5)", sides).fetchone()[0]
        for sides in asked[:: len(asked) // 150]
    ]
    assert found == [searched(*sides) for sides in asked[:: len(asked) // 150]]
    assert {None, 1} < set(found)


@pytest.mark.parametrize("sides", [(1, None, 3, 0.1, 0.1), (3, 0.1, 1, None, 0.1), (3, 0.1, 3, 0.1, None)])
def test_without_a_variance_or_a_question_there_is_no_number(in_memory, sides):
    assert in_memory.execute("SELECT more_units($2, $1, $4, $3, $5)", sides).fetchone() == (None,)


@measured(Case(name="ddp", step_ms={1: [10.0, 10.1, 10.2], 2: NOISY}))
def test_a_verdict_needs_rounds_until_its_interval_crosses_no_border(ask):
    row = ask("FROM scaling WHERE workers = 2")[0]
    variance = np.var(np.log([10.0, 10.1, 10.2]) - np.log(NOISY), ddof=1)
    nearest = min(abs(np.log(border / row["efficiency"])) for border in verdicts.limits().values())
    assert row["verdict_lo"] != row["verdict_hi"]
    assert row["repeats_needed"] == searched(3, variance, 2, 0.0, nearest)


@measured(Case(name="ddp", step_ms={1: [10.0, 10.1, 10.2], 2: NOISY}, rounds=False))
def test_a_verdict_needs_repeats_until_its_interval_crosses_no_border(ask):
    row = ask("FROM scaling WHERE workers = 2")[0]
    assert (row["verdict_lo"], row["verdict"], row["verdict_hi"]) == ("acceptable", "undecided", "excellent")
    one, two = (np.var(np.log(steps), ddof=1) for steps in ([10.0, 10.1, 10.2], NOISY))
    nearest = np.log(0.9 / row["efficiency"])
    assert 0 < nearest < np.log(row["efficiency"] / 0.75)
    assert row["repeats_needed"] == searched(3, two, 3, one, nearest)


@measured(
    Case(name="ddp", step_ms={1: 10.0, 2: [6.0, 6.01, 6.02]}),
    Case(name="once", step_ms={1: 10.0, 2: 6.0}, repeats=1),
)
def test_a_verdict_that_is_decided_needs_none_and_a_row_without_one_has_no_number(ask):
    rows = ask("FROM scaling ORDER BY case_name, workers")
    assert [row["repeats_needed"] for row in rows] == [None, 0, None, None]


@measured(Case(name="ddp", step_ms={1: 9.0, 2: [4.0, 6.25]}, repeats=2))
def test_an_efficiency_on_the_very_border_is_never_decided(ask):
    row = ask("FROM scaling WHERE workers = 2")[0]
    assert row["efficiency"] == pytest.approx(0.9)
    assert row["repeats_needed"] is None


def test_the_borders_are_those_of_the_verdicts():
    listed = re.search(r"IN \[([\d., ]+)\]", schema.text("scaling"))
    assert listed is not None
    assert sorted(verdicts.limits().values()) == [float(border) for border in listed[1].split(",")]
