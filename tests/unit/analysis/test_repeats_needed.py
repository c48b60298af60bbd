"""Number of repeats that would decide: the macros compared with a search by scipy, and their use in the tables."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from analysis.wording import verdicts
from tests.factory import Case
from tests.unit.analysis.conftest import measured

NOISY = [5.6, 6.4, 6.0]
MORE = [*range(1, 21), *(math.ceil(20 * 1.08**step) for step in range(1, 51))]
"""Numbers of further repeats that are tried."""
PARTS = (np.arange(20) + 0.5) / 20
MOVES = stats.norm.ppf((np.arange(4001) + 0.5) / 4001)
BORDERS = sorted(verdicts.limits().values())

Decided = Callable[[np.ndarray, np.ndarray], np.ndarray]


def later(variance: float, df: float, units: int, more: int, true: np.ndarray) -> np.ndarray:
    """Half-width to be expected after more units of these true variances."""
    pooled = (df * variance + more * true) / (df + more)
    return stats.t.ppf(0.975, df + more) * np.sqrt(pooled / (units + more))


def searched(mean: float, variance: float, df: float, units: int, decided: Decided) -> int | None:
    """The first number after which `decided(low, high)` holds in four of five sessions."""
    cube = 1 - 2 / (9 * df) + stats.norm.ppf(PARTS) * math.sqrt(2 / (9 * df))
    true = variance / np.maximum(0.02, cube) ** 3
    for more in MORE:
        moved = mean + np.sqrt(true * (1 / units - 1 / (units + more)))[:, None] * MOVES
        half = later(variance, df, units, more, true)[:, None]
        if more <= 1000 and decided(moved - half, moved + half).mean() >= 0.8:
            return more
    return None


def has_one_verdict(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.asarray(
        np.searchsorted(np.log(BORDERS), low, side="right") == np.searchsorted(np.log(BORDERS), high)
    )


@pytest.mark.parametrize("units", [3, 5, 10])
def test_the_number_decides_in_four_of_five_sessions(in_memory, units):
    random = np.random.default_rng(units)
    found = []
    for _ in range(12):
        mean, variance = np.log(random.uniform(0.55, 1.1)), random.uniform(0.01, 0.08) ** 2
        query = "SELECT units_to_decide($1::DOUBLE, $2::DOUBLE, $3, $4, verdict_regions())"
        found.append(in_memory.execute(query, [float(mean), variance, units - 1, units]).fetchone()[0])
        assert found[-1] == searched(mean, variance, units - 1, units, has_one_verdict)
    assert max(filter(None, found)) > 20


def test_a_width_is_reached_in_four_of_five_sessions(in_memory):
    for units, deviation, wanted in ((3, 0.01, 0.02), (5, 0.02, 0.01), (10, 0.1, 0.05), (3, 0.3, 0.001)):
        df = units - 1
        true = deviation**2 * df / stats.chi2.ppf(0.2, df)
        enough = [more for more in MORE if later(deviation**2, df, units, more, true) <= wanted]
        query = "SELECT units_to_width($1::DOUBLE, $2, $3, $4::DOUBLE)"
        found = in_memory.execute(query, [deviation**2, df, units, wanted]).fetchone()[0]
        assert found == pytest.approx(enough[0], rel=0.09, abs=1) if enough else found is None


def test_without_a_variance_or_a_question_there_is_no_number(in_memory):
    for sides in ("0.1, NULL, 2, 3", "0.1, 0.01, NULL, 3", "NULL, 0.01, 2, 3"):
        assert in_memory.execute(f"SELECT units_to_decide({sides}, verdict_regions())").fetchone() == (None,)
    for sides in ("NULL, 2, 3, 0.1", "0.1, 2, 3, NULL"):
        assert in_memory.execute(f"SELECT units_to_width({sides})").fetchone() == (None,)


@measured(Case(name="ddp", step_ms={1: [10.0, 10.1, 10.2], 2: NOISY}))
def test_a_verdict_needs_rounds_until_its_interval_crosses_no_border(ask):
    row = ask("FROM scaling WHERE workers = 2")[0]
    variance = np.var(np.log([10.0, 10.1, 10.2]) - np.log(NOISY), ddof=1)
    assert row["verdict_lo"] != row["verdict_hi"]
    assert row["repeats_needed"] == searched(np.log(row["efficiency"]), variance, 2, 3, has_one_verdict)


@measured(Case(name="ddp", step_ms={1: [10.0, 10.1, 10.2], 2: NOISY}, rounds=False))
def test_a_verdict_needs_repeats_until_its_interval_crosses_no_border(ask):
    row = ask("FROM scaling WHERE workers = 2")[0]
    assert (row["verdict_lo"], row["verdict"], row["verdict_hi"]) == ("acceptable", "undecided", "excellent")
    one, two = (np.var(np.log(steps), ddof=1) for steps in ([10.0, 10.1, 10.2], NOISY))
    df = (one + two) ** 2 / (one**2 / 2 + two**2 / 2)
    assert row["repeats_needed"] == searched(np.log(row["efficiency"]), one + two, df, 3, has_one_verdict)


@measured(
    Case(name="ddp", step_ms={1: 10.0, 2: [6.0, 6.01, 6.02]}),
    Case(name="once", step_ms={1: 10.0, 2: 6.0}, repeats=1),
)
def test_a_verdict_that_is_decided_needs_none_and_a_row_without_one_has_no_number(ask):
    rows = ask("FROM scaling ORDER BY case_name, workers")
    assert [row["repeats_needed"] for row in rows] == [None, 0, None, None]


def test_the_regions_are_those_of_the_verdicts(in_memory):
    regions = in_memory.execute("SELECT verdict_regions()").fetchone()[0]
    assert [region["high"] for region in regions[:-1]] == pytest.approx(np.log(BORDERS))
    assert [region["low"] for region in regions[1:]] == pytest.approx(np.log(BORDERS))
