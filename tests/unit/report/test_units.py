"""Numbers as a person reads them."""

from __future__ import annotations

import pytest

from analysis.report.html import units


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3.8059, "3.81"),
        (1234.5, "1,234"),
        (0.00042, "0.000420"),
        (0, "0"),
        (-12.34, "−12.3"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_a_number_has_three_significant_digits(value, shown):
    assert units.number(value) == shown


def test_bytes_are_in_powers_of_1024():
    assert [units.bytes_(value) for value in (512, 21_000_000_000, None)] == [
        "512\u00a0B",
        "19.6\u00a0GiB",
        "–",
    ]


def test_seconds_follow_their_size():
    shown = [units.seconds(value) for value in (0.012, 3.4, 125, 3_720, None)]
    assert shown == ["12.0\u00a0ms", "3.40\u00a0s", "2\u00a0min 05\u00a0s", "1\u00a0h 02\u00a0min", "–"]


def test_a_fraction_is_shown_in_percent():
    assert units.percent(0.7929) == "79.3\u00a0%"


def test_value_and_interval_end_at_the_same_digit_and_carry_their_unit():
    shown = units.with_interval(0.7929, 0.781, 0.806, "%", 100)
    assert shown == '79.3\u00a0% <span class="interval">[78.1,\u00a080.6]</span>'
    assert units.with_interval(1.514, None, None, "×") == "1.51×"
    assert units.with_interval(None, 0.1, 0.2, "×") == "–"


def test_mean_and_standard_deviation_end_at_the_same_digit():
    assert units.with_spread(21.183, 1.71, "ms") == '21.2\u00a0ms <span class="interval">±\u00a01.7</span>'
    assert units.with_spread(21.183, None, "ms") == "21.2\u00a0ms"
    assert units.with_spread(None, None, "ms") == "–"
