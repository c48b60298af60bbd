"""The interval by which a session decides to repeat, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bench.records.t_interval import half_width_of_stopped, t_quantile, t_quantile_of_stopped


@pytest.mark.parametrize("df", [1.05, 1.5, 2.25, *range(1, 40), 99, 100, 500, 999, 10_000, 1e9, math.inf])
def test_the_quantiles_of_students_t_are_scipys(df: float) -> None:
    assert t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-11)
    assert t_quantile_of_stopped(df) == pytest.approx(stats.t.ppf(1 - 0.035 / 2, df), rel=1e-11)


@pytest.mark.parametrize("values", [[100.0, 110.0], [98.0, 101.0, 100.0, 99.5], [5.0, 50.0, 500.0]])
def test_the_half_width_is_the_longer_side_of_students_interval_on_logarithms(values: list[float]) -> None:
    logs = np.log(values)
    _, high = stats.t.interval(0.965, df=len(values) - 1, loc=logs.mean(), scale=stats.sem(logs))
    assert half_width_of_stopped(list(logs)) == pytest.approx(np.exp(high - logs.mean()) - 1)


def test_one_value_has_no_interval_and_equal_ones_have_none_that_is_wide() -> None:
    assert half_width_of_stopped([]) is half_width_of_stopped([100.0]) is None
    assert half_width_of_stopped([0.1 + 0.2] * 7) == 0.0
