"""The table of laws, which is on the page of every session that has any."""

from __future__ import annotations

import pytest

from analysis.laws.wording import peaks, sentence, weights
from analysis.report.sections.laws_table import laws
from tests.unit.report.conftest import GPUS, SCALING
from tests.unit.report.test_session_page import rows_of


def law(**values):
    """A row of queries/laws.sql."""
    row = {
        "case_name": "ddp", "axis": "ranks", "segment": "all", "points": 5, "smallest_workers": 1,
        "largest_workers": 16, "saturating_weight": 0.004, "log_weight": 0.05, "pairs_weight": 0.946,
        "best_form": "pairs", "serial_fraction": 0.0401, "serial_fraction_lo": 0.0362,
        "serial_fraction_hi": 0.0443, "growth": 0.002, "growth_lo": 0.001, "growth_hi": 0.003,
        "peak_workers": 31.1, "peak_workers_lo": 26.0, "peak_workers_hi": 37.2, "left_out_error": -0.117,
        "reason": None, "communication_errors": None,
    }  # fmt: skip
    return row | values


NO_PEAK = dict.fromkeys(("peak_workers", "peak_workers_lo", "peak_workers_hi"))
NOT_SERIAL = dict.fromkeys(("serial_fraction", "serial_fraction_lo", "serial_fraction_hi"))
NO_GROWTH = dict.fromkeys(("growth", "growth_lo", "growth_hi"))


def test_a_case_has_the_weights_of_its_forms_the_best_ones_coefficients_and_the_left_out_error():
    head, row = rows_of(laws([law()]))
    assert head == "case forms the best one says sizes largest size left out"
    assert row == (
        "ddp pairs 95 %, log 5 % 4.0 % [3.6, 4.4] of a step on 1 rank is serial. Each further rank adds 0.20 % "
        "[0.10, 0.30] of a step on 1 rank. Fastest at about 31 ranks [26, 37]. 5 −12 %"
    )


def test_a_part_of_the_sizes_says_which():
    for segment, said in (("one node", "4 on one node"), ("across nodes", "4 across nodes")):
        assert f" {said} " in rows_of(laws([law(segment=segment, points=4)]))[1]


def test_forms_are_listed_by_weight_without_those_below_one_percent():
    assert weights(law()) == "pairs 95 %, log 5 %"
    assert weights(law(saturating_weight=0.5, log_weight=0.35, pairs_weight=0.15)) == (
        "saturating 50 %, log 35 %, pairs 15 %"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"best_form": "saturating", "saturating_weight": 0.9, **NO_GROWTH},
            "4.0 % [3.6, 4.4] of a step on 1 rank is serial.",
        ),
        (
            {"best_form": "saturating", "saturating_weight": 0.44, **NO_GROWTH},
            "By its best form (saturating, 44 %): 4.0 % [3.6, 4.4] of a step on 1 rank is serial.",
        ),
        (
            {"best_form": "log", "log_weight": 0.95, **NOT_SERIAL},
            "Each doubling of ranks adds 0.20 % [0.10, 0.30] of a step on 1 rank.",
        ),
        (
            {"best_form": "saturating", "saturating_weight": 0.95, **NOT_SERIAL},
            "Any number of ranks adds at most 0.20 % [0.10, 0.30] of a step on 1 rank.",
        ),
        (
            {"smallest_workers": 8, **NOT_SERIAL},
            "Each further 8 ranks add 0.20 % [0.10, 0.30] of a step on 8 ranks.",
        ),
        (
            {"axis": "threads", **NOT_SERIAL},
            "Each further thread adds 0.20 % [0.10, 0.30] of a step on 1 thread.",
        ),
        (
            {"reason": "2 of the 3 sizes that a law needs"},
            "No law: measured at 2 of the 3 sizes that a law needs.",
        ),
    ],
)
def test_the_coefficients_of_the_best_form_are_told_plainly(values, said):
    assert sentence(law(**NO_PEAK | values)) == said


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "Fastest at about 31 ranks [26, 37]."),
        ({"peak_workers_lo": 8.0}, "These sizes do not show whether there is a peak."),
        (
            {"peak_workers": None, "peak_workers_lo": 40.7, "peak_workers_hi": None},
            "No peak up to 40 ranks, if nothing new begins beyond 16.",
        ),
        (
            {"peak_workers": 7.6, "peak_workers_lo": 6.1, "peak_workers_hi": 9.4, "axis": "threads"},
            "Fastest at about 8 threads [6, 9], between sizes that were measured.",
        ),
        (NO_PEAK, ""),
        ({"segment": "one node"}, ""),
        (
            {"segment": "one node", "peak_workers": 7.6, "peak_workers_lo": 6.1, "peak_workers_hi": 9.4},
            "Fastest at about 8 ranks [6, 9], between sizes that were measured.",
        ),
    ],
)
def test_the_words_say_no_more_than_the_interval_of_the_peak(values, said):
    assert sentence(law(**NOT_SERIAL, **NO_GROWTH, **values)) == said


def test_a_case_without_a_law_says_why_next_to_one_that_has_one():
    without = dict.fromkeys(
        ("best_form", "saturating_weight", "log_weight", "pairs_weight", "left_out_error")
    )
    reason = "2 of the 3 sizes that a law needs"
    rows = rows_of(laws([law(), law(case_name="two", points=2, reason=reason, **without)]))
    assert rows[2] == f"two – No law: measured at {reason}. 2 –"


def test_the_error_of_what_communication_predicts_is_told_at_each_measured_size():
    errors = [{"workers": 2, "relative_error": 0.031}, {"workers": 4, "relative_error": -0.117}]
    head, row = rows_of(laws([law(communication_errors=errors)]))
    assert head.endswith("left out communication's error")
    assert row.endswith("−12 % +3 % at 2, −12 % at 4")


def test_the_table_is_on_the_page_if_a_case_has_sizes_enough(page_of):
    assert "Laws: one row per case" in page_of[SCALING]
    assert "Laws: one row per case" not in page_of[GPUS]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {},
            [
                "ddp: fastest at about 31 ranks [26, 37], by 5 sizes, if nothing new begins beyond 16; fitted without "
                "16, its law misses that size by −12 %."
            ],
        ),
        (
            {"peak_workers": 7.6, "peak_workers_lo": 6.1, "peak_workers_hi": 9.4},
            ["ddp: fastest at about 8 ranks [6, 9], by 5 sizes."],
        ),
        ({"segment": "one node"}, []),
        ({"peak_workers_hi": 105.0}, []),
        ({"largest_workers": 4}, []),
        (NO_PEAK, []),
    ],
)
def test_a_summary_tells_a_peak_that_is_near_and_narrow(values, told):
    assert list(peaks([law(**values)])) == told
