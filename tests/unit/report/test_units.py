"""Numbers as a person reads them."""

from __future__ import annotations

import pytest

from analysis.report import units


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3.8059, "3.81"),
        (1234.5, "1,234"),
        (0.00042, "0.000420"),
        (0, "0"),
        (-12.34, "-12.3"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_a_number_has_three_significant_digits(value, shown):
    assert units.number(value) == shown


def test_bytes_are_in_powers_of_a_thousand():
    assert [units.bytes_(value) for value in (512, 21_000_000_000, None)] == [
        "512\u00a0B",
        "21.0\u00a0GB",
        "–",
    ]


def test_seconds_follow_their_size():
    shown = [units.seconds(value) for value in (0.012, 3.4, 125, 3_720, None)]
    assert shown == ["12.0\u00a0ms", "3.40\u00a0s", "2\u00a0min 05\u00a0s", "1\u00a0h 02\u00a0min", "–"]


def test_an_interval_of_efficiency_is_in_percent_and_empty_where_there_is_none():
    assert units.percent(0.7929) == "79.3\u00a0%"
    assert units.percent_interval(0.781, 0.806) == "[78.1, 80.6]"
    assert units.percent_interval(None, 0.806) == ""
