"""The rows of the first screen for cases that are compared with another case, without an efficiency."""

from __future__ import annotations

import re

import pytest

from analysis.report.sections.answer_table import answer_table
from analysis.report.sections.ratio_table import MOST_CASES, ratio_table
from tests.unit.report.test_answer_table import point
from tests.unit.report.test_session_page import words

ONE = {"verdict": None, "verdict_lo": None, "verdict_hi": None}


def alternative(case="bf16", ratio=1.6, low=1.5, high=1.7, **values):
    """A case on one rank, compared with the case fp32 on one rank."""
    without = {f"efficiency{end}": None for end in ("", "_lo", "_hi")}
    row = point(case, ratio, low, high, workers=1, baseline_case="fp32")
    return row | ONE | without | {"is_baseline": False} | values


def measured(*alternatives):
    return [point("fp32", 1.0, 1.0, 1.0, workers=1) | ONE | {"is_baseline": True}, *alternatives]


def test_a_row_has_both_throughputs_the_ratio_and_a_word_beside_its_interval():
    table = ratio_table(measured(alternative()))
    (row,) = re.findall(r"<tbody>(.*?)</tbody>", table, re.S)
    assert words(row) == "bf16 against fp32 100 → 160 1 rank 1.60× [1.50, 1.70] faster"
    assert 'aria-label="1.60 [1.50, 1.70] times as fast: faster"' in row
    assert re.findall(r'text-anchor="middle">([\d.]+)<', table) == ["0.5", "1", "2"]
    (ends,) = re.findall(r'<line x1="([\d.]+)%" x2="([\d.]+)%" y1="50%"', row)
    assert [float(end) for end in ends] == [pytest.approx(76.9, abs=0.1), pytest.approx(85.2, abs=0.1)]


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.42, 1.2, "undecided"),
        (0.96, 1.04, "no gain shown"),
        (0.5, 0.8, "slower"),
        (0.4, 1.9, "undecided"),
    ],
)
def test_the_word_is_that_of_the_interval(low, high, word):
    table = ratio_table(measured(alternative(ratio=(low * high) ** 0.5, low=low, high=high)))
    assert f"times as fast: {word}" in table
    assert ("<circle" in table) == (high < 4 * low)


def test_an_interval_beyond_the_scale_ends_at_its_edge_and_more_cases_are_named():
    many = [alternative(f"c{number}", 5.0, 3.0, 8.0) for number in range(MOST_CASES + 1)]
    table = ratio_table(measured(*many))
    assert table.count("<circle") == MOST_CASES
    assert 'x2="96.0%"' in table
    assert f"c{MOST_CASES}" in table.partition("Not shown: ")[2]


def test_cases_with_an_efficiency_stay_in_the_other_table_which_does_not_miss_these():
    both = [
        *measured(alternative()),
        point("ddp"),
        point("ddp", 1.0, 1.0, 1.0, workers=1) | {"is_baseline": True},
    ]
    assert "ddp" not in ratio_table(both)
    assert "Cases without an efficiency" not in answer_table(both, [])
    alone = point("single", workers=1) | ONE | {"speedup": None, "efficiency": None}
    (left_out,) = re.findall(r"Cases without an efficiency: (.*?)</span>", answer_table([*both, alone], []))
    assert words(left_out) == "single."
    assert ratio_table([point("ddp")]) == ""


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"speedup_min": 1.01, "speedup_max": 1.09, "repeats": 2},
            "1.05 (1.01 to 1.09) times as fast: undecided",
        ),
        ({"repeats": 1}, "1.05 times as fast: one repeat"),
        ({"is_published": True}, "1.05 times as fast: published, one figure"),
    ],
)
def test_without_an_interval_the_range_of_the_rounds_and_the_reason_are_shown(values, said):
    table = ratio_table(measured(alternative(ratio=1.05, low=None, high=None, **values)))
    assert f'aria-label="{said}"' in table
    assert words(table).count(said.partition(" times")[0].replace("1.05", "1.05×")) == 1


def test_a_baseline_of_one_repeat_has_no_verdict_either():
    once = [
        row | {"repeats": 1} if row["is_baseline"] else row
        for row in measured(alternative(low=None, high=None))
    ]
    assert "times as fast: one repeat" in ratio_table(once)


def test_a_single_run_has_no_verdict_and_a_noisy_row_does_not_stretch_the_scale():
    once = ratio_table(measured(alternative(ratio=1.05, low=None, high=None, repeats=1)))
    assert "1.05 times as fast: one repeat" in once
    assert 'class="hollow"' in once
    noisy = alternative("c", 1.0, 0.3, 4.0)
    ticks = re.findall(r'text-anchor="middle">([\d.]+)<', ratio_table(measured(alternative(), noisy)))
    assert ticks == ["0.5", "1", "2"]
