"""Digits follow the uncertainty."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.wording.numbers import estimate, spread


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (1.5093, 1.4421, 1.5713, ("1.51", "[1.44, 1.57]")),
        (0.9793, 0.9312, 1.0299, ("0.979", "[0.931, 1.030]")),
        (0.97931, 0.97922, 0.97941, ("0.9793", "[0.9792, 0.9794]")),
        (62.51, 37.4, 104.5, ("62.5", "[37.4, 104.5]")),
        (3.2, 3.2, 3.2, ("3.20", "[3.20, 3.20]")),
        (3.2, None, None, ("3.20", "")),
        (1076.3, 893.0, 1290.0, ("1,076", "[893, 1,290]")),
        (12.0, 0.0031, 900.0, ("12.0", "[0.003, 900.0]")),
        (1.0004, 1.0003, 1.0005, ("1.0004", "[1.0003, 1.0005]")),
        (-4.44, -16432.46, 3886.86, ("−4", "[−16,432, 3,887]")),
        (-0.0129, -47.62, 11.26, ("0.0", "[−47.6, 11.3]")),
        (0.1234, -0.5, 0.7, ("0.123", "[−0.500, 0.700]")),
        (0.0, 0.0, 2.4e-5, ("0", "[0, 0.0000240]")),
        (3.2, 1.1, float("inf"), ("3.20", "[1.10, inf]")),
        (float("inf"), None, None, ("inf", "")),
    ],
)
def test_a_value_has_three_digits_and_more_where_its_interval_would_vanish(value, low, high, said):
    assert estimate(value, low, high) == said


@pytest.mark.parametrize(
    ("mean", "deviation", "said"),
    [
        (21.183, 1.71, ("21.2", "1.7")),
        (39.851, 3.94, ("39.9", "3.9")),
        (25.571, 0.503, ("25.6", "0.5")),
        (95.24, 0.0, ("95.2", "0.0")),
        (95.24, 0.004, ("95.2", "0.004")),
        (95.24, None, ("95.2", "")),
        (0.00042, None, ("0.000420", "")),
        (123456.0, 24000.0, ("123,456", "24,000")),
    ],
)
def test_a_mean_and_its_standard_deviation_end_at_the_same_digit(mean, deviation, said):
    assert spread(mean, deviation) == said


@given(st.floats(1e-6, 1e9), st.floats(1e-6, 1))
def test_rounding_moves_a_value_by_at_most_half_a_percent_and_its_uncertainty(value, relative):
    half = value * relative
    said = number(estimate(value, value - half, value + half)[0])
    assert abs(said - value) <= max(min(half, value * 0.00501), value * 1e-5)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_where_the_interval_holds_0_rounding_moves_a_value_by_at_most_half_a_percent_of_it(value, down, up):
    low, high = min(value, 0) - down, max(value, 0) + up
    said = number(estimate(value, low, high)[0])
    assert abs(said - value) <= 0.00501 * max(-low, high)


@given(st.floats(1e-6, 1e6), st.floats(1e-9, 1), st.floats(1, 1e3))
def test_no_end_of_an_interval_of_positive_numbers_reads_zero(value, down, up):
    low, high = estimate(value, value * down, value * up)[1].strip("[]").split(", ")
    assert float(low.replace(",", "")) > 0
    assert float(high.replace(",", "")) > 0
