"""The interval by which a session decides to repeat, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bench.records.t_interval import half_width_of_stopped, median_places, t_quantile, t_quantile_of_stopped


@pytest.mark.parametrize("df", [1.05, 1.5, 2.25, *range(1, 40), 99, 100, 500, 999, 10_000, 1e9, math.inf])
def test_the_quantiles_of_students_t_are_scipys(df: float) -> None:
    assert t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-11)
    assert t_quantile_of_stopped(df) == pytest.approx(stats.t.ppf(1 - 0.035 / 2, df), rel=1e-11)


@pytest.mark.parametrize("values", [[98.0, 101.0, 100.0, 99.5], [5.0, 50.0, 500.0]])
def test_the_half_width_of_three_to_five_is_the_longer_side_of_students_interval_on_logarithms(
    values: list[float],
) -> None:
    logs = np.log(values)
    _, high = stats.t.interval(0.965, df=len(values) - 1, loc=logs.mean(), scale=stats.sem(logs))
    assert half_width_of_stopped(list(logs)) == pytest.approx(np.exp(high - logs.mean()) - 1)


@pytest.mark.parametrize("n", [6, 7, 9, 10, 14, 20, 50])
def test_the_places_of_a_median_hold_it_in_965_of_1000(n: int) -> None:
    """The interval between the place-th values at both ends, and that between the next ones, enclose the level."""
    place, part = median_places(n)
    outer, inner = (1 - 2 * stats.binom.cdf(k - 1, n, 0.5) for k in (place, place + 1))
    assert inner < 0.965 <= outer
    assert 0 <= part < 1


def test_from_six_values_on_a_far_one_does_not_widen_the_interval() -> None:
    logs = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09]
    assert half_width_of_stopped([*logs, 9.0]) == pytest.approx(
        half_width_of_stopped([*logs, 0.1]), abs=0.002
    )


def test_two_values_have_no_interval_and_equal_ones_have_none_that_is_wide() -> None:
    assert half_width_of_stopped([]) is half_width_of_stopped([100.0, 101.0]) is None
    assert half_width_of_stopped([0.1 + 0.2] * 7) == 0.0
