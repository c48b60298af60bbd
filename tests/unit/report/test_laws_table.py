"""The table of scaling laws, which is on the page of every session that has any."""

from __future__ import annotations

import pytest

from analysis.laws.wording import comparison, peaks, sentence
from analysis.report.sections.laws_table import laws
from tests.unit.report.conftest import GPUS, SCALING
from tests.unit.report.test_session_page import rows_of


def law(**values):
    """A row of queries/laws.sql."""
    row = {
        "case_name": "ddp", "axis": "ranks", "segment": "all", "points": 5, "smallest_workers": 1,
        "largest_workers": 16, "serial_law": "amdahl", "serial_fraction": 0.0401, "serial_fraction_lo": 0.0362,
        "serial_fraction_hi": 0.0443, "serial_lack_of_fit_p": 0.31, "serial_rejected": False,
        "serial_left_out_error": 0.031, "speedup_limit": 24.9, "speedup_limit_lo": 21.2, "speedup_limit_hi": 29.3,
        "usl_alpha": 0.0305, "usl_alpha_lo": 0.021, "usl_alpha_hi": 0.039, "usl_beta": 0.001, "usl_beta_lo": 0.0008,
        "usl_beta_hi": 0.0012, "usl_gamma": 640.0, "usl_lack_of_fit_p": 0.52, "usl_rejected": False,
        "usl_left_out_error": -0.117, "beyond_amdahl_p": 0.0021, "preferred_law": "usl",
        "peak_workers": 31.1, "peak_workers_lo": 26.0, "peak_workers_hi": 37.2, "communication_errors": None,
    }  # fmt: skip
    return row | values


def test_a_case_has_its_coefficients_with_their_intervals_its_peak_its_tests_and_what_that_says():
    head, row = rows_of(laws([law()]))
    assert head == (
        "case its laws say sizes serial fraction [95 %] its lack of fit, p its largest size left out α [95 %] "
        "β [95 %] peak [95 %] USL's lack of fit, p USL's largest size left out"
    )
    assert row.endswith(
        "The USL is closer to the runs than Amdahl (p = 0.0021). 5 0.0401 [0.0362, 0.0443] 0.31 +3 % "
        "0.0305 [0.0210, 0.0390] 0.00100 [0.00080, 0.00120] 31.1 [26.0, 37.2] 0.52 −12 %"
    )


def test_a_part_of_the_sizes_says_which():
    for segment, said in (("one node", "4 on one node"), ("across nodes", "4 across nodes")):
        assert f" {said} " in rows_of(laws([law(segment=segment, points=4)]))[1]


GUSTAFSON = {"serial_law": "gustafson", "beyond_amdahl_p": None}
REJECTED = {"serial_rejected": True, "serial_lack_of_fit_p": 8.3e-12}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "The USL is closer to the runs than Amdahl (p = 0.0021)."),
        (
            {"preferred_law": "amdahl", "beyond_amdahl_p": 0.4},
            "Amdahl is enough at these sizes: the runs show no cost for each pair of ranks (p = 0.4).",
        ),
        ({**GUSTAFSON, "preferred_law": "usl"}, "The USL is closer to the runs than Gustafson."),
        ({**GUSTAFSON, "preferred_law": "gustafson"}, "Gustafson is closer to the runs than the USL."),
        ({**GUSTAFSON, "preferred_law": None}, "The runs do not tell Gustafson and the USL apart."),
        (
            {**GUSTAFSON, **REJECTED},
            "Gustafson does not hold at these sizes (lack of fit, p < 0.001) and predicts nothing.",
        ),
        (
            {"usl_rejected": True, "usl_lack_of_fit_p": 0.031},
            "The USL does not hold at these sizes (lack of fit, p = 0.031) and predicts nothing.",
        ),
        (
            {**REJECTED, "usl_rejected": True, "usl_lack_of_fit_p": 0.031},
            "Neither Amdahl nor the USL holds at these sizes (lack of fit, p < 0.001 and p = 0.031): no prediction.",
        ),
        ({"usl_gamma": None, "usl_rejected": None, "usl_lack_of_fit_p": None}, ""),
    ],
)
def test_which_laws_hold_and_which_is_closer_is_said_plainly(values, said):
    assert comparison(law(**values)) == said


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "By the USL fastest at about 31 ranks [26, 37]."),
        ({"peak_workers_lo": 8.0}, "These sizes do not show whether there is a peak."),
        ({"peak_workers": None, "peak_workers_lo": None}, "No peak in sight."),
        (
            {"peak_workers": None, "peak_workers_lo": 40.7, "peak_workers_hi": None},
            "By the USL no peak up to 40 ranks.",
        ),
        ({"peak_workers_lo": 17.2, "peak_workers_hi": None}, "By the USL no peak up to 17 ranks."),
        (
            {"peak_workers": None, "peak_workers_lo": 15.0, "peak_workers_hi": None},
            "These sizes do not show whether there is a peak.",
        ),
        (
            {"peak_workers": 7.6, "peak_workers_lo": 6.1, "peak_workers_hi": 9.4, "axis": "threads"},
            "By the USL fastest at about 8 threads [6, 9], between sizes that were measured.",
        ),
        (
            {"peak_workers": 7.6, "peak_workers_lo": 1.0, "peak_workers_hi": 60.0},
            "These sizes do not show whether there is a peak.",
        ),
        ({"usl_gamma": None}, "Too few sizes to tell whether there is a peak."),
        ({"usl_rejected": True}, ""),
        ({"segment": "one node"}, ""),
        (
            {"segment": "one node", "peak_workers": 7.6, "peak_workers_lo": 6.1, "peak_workers_hi": 9.4},
            "By the USL fastest at about 8 ranks [6, 9], between sizes that were measured.",
        ),
    ],
)
def test_the_words_say_no_more_than_the_interval_of_the_peak(values, said):
    assert sentence(law(**dict.fromkeys(("speedup_limit_lo", "speedup_limit_hi")), **values)) == said


@pytest.mark.parametrize(
    ("low", "said"),
    [
        (7.4, "By Amdahl no number of ranks is more than 24.9 [7.4, 29.3] times as fast; no peak in sight."),
        (7.3, "No peak in sight."),
    ],
)
def test_a_limit_is_told_where_its_ends_are_no_more_than_a_factor_of_four_apart(low, said):
    assert sentence(law(peak_workers=None, peak_workers_lo=None, speedup_limit_lo=low)) == said


def test_a_peak_that_the_sizes_do_not_decide_has_no_number():
    for peak in (31.1, 7.6):
        (_, row) = rows_of(laws([law(peak_workers=peak, peak_workers_lo=2.0)]))
        assert " undecided " in row
    (_, row) = rows_of(laws([law(peak_workers_lo=17.2, peak_workers_hi=None)]))
    assert " above 17 " in row
    (_, none) = rows_of(
        laws([law(usl_beta=0.0, peak_workers=None, peak_workers_lo=None, peak_workers_hi=None)])
    )
    assert " none " in none


def test_a_rejected_law_has_no_peak():
    (_, row) = rows_of(
        laws([law(usl_rejected=True, **dict.fromkeys(("peak_workers_lo", "peak_workers_hi")))])
    )
    assert row.endswith(" – 0.52 −12 %")


def test_columns_of_a_law_that_no_case_has_are_left_out():
    missing = ("usl_alpha", "usl_beta", "usl_gamma", "usl_lack_of_fit_p", "usl_left_out_error")
    (head, _) = rows_of(laws([law(**dict.fromkeys(missing))]))
    assert (
        head == "case its laws say sizes serial fraction [95 %] its lack of fit, p its largest size left out"
    )


def test_the_error_of_what_communication_predicts_stands_at_each_size_that_was_measured():
    errors = [{"workers": 2, "relative_error": 0.031}, {"workers": 4, "relative_error": -0.117}]
    head, row = rows_of(laws([law(communication_errors=errors)]))
    assert head.endswith("left out communication's error")
    assert row.endswith("−12 % +3 % at 2, −12 % at 4")


def test_the_table_stands_on_the_page_where_a_case_has_sizes_enough(page_of):
    assert "Scaling laws: one row per case" in page_of[SCALING]
    assert "Scaling laws: one row per case" not in page_of[GPUS]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {},
            [
                "ddp: by the USL fastest at about 31 ranks [26, 37], fitted to 5 sizes up to 16; fitted without 16, "
                "it misses that size by −12 %."
            ],
        ),
        (
            {"usl_left_out_error": None},
            ["ddp: by the USL fastest at about 31 ranks [26, 37], fitted to 5 sizes up to 16."],
        ),
        ({"segment": "one node"}, []),
        ({"peak_workers_hi": 105.0}, []),
        ({"largest_workers": 4}, []),
        ({"peak_workers": None, "peak_workers_lo": None, "peak_workers_hi": None}, []),
    ],
)
def test_a_summary_tells_a_peak_that_is_near_and_narrow(values, told):
    assert list(peaks([law(**values)])) == told
