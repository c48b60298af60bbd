"""The table of scaling laws, which is on the page of every session that has any."""

from __future__ import annotations

import pytest

from analysis.laws.wording import closer_law, peaks, sentence
from analysis.report.sections.laws_table import laws
from tests.unit.report.conftest import GPUS, SCALING
from tests.unit.report.test_session_page import rows_of


def law(**values):
    """A row of queries/laws.sql."""
    row = {
        "case_name": "ddp", "axis": "ranks", "points": 5, "smallest_workers": 1, "largest_workers": 16,
        "serial_law": "amdahl", "serial_fraction": 0.0401, "serial_fraction_se": 0.0021, "serial_r2": 0.98,
        "speedup_limit": 24.9, "speedup_limit_lo": 21.2, "speedup_limit_hi": 29.3,
        "usl_alpha": 0.0305, "usl_alpha_se": 0.004, "usl_beta": 0.001, "usl_beta_se": 0.0001, "usl_gamma": 640.0,
        "r2": 0.9995, "peak_workers": 31.1, "peak_workers_lo": 26.0, "peak_workers_hi": 37.2,
        "communication_errors": None,
    }  # fmt: skip
    return row | values


def test_a_case_has_its_coefficients_with_their_errors_its_peak_and_what_that_says():
    head, row = rows_of(laws([law()]))
    assert head == "case its laws say sizes serial fraction ± se its r² α ± se β ± se peak [95 %] USL r²"
    assert row.endswith(
        "The USL is closer to the measured sizes than Amdahl. "
        "5 0.0401 ± 0.0021 0.9800 0.0305 ± 0.0040 0.00100 ± 0.00010 31.1 [26.0, 37.2] 0.9995"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "The USL is closer to the measured sizes than Amdahl."),
        ({"serial_law": "gustafson", "r2": 0.97}, "Gustafson is closer to the measured sizes than the USL."),
        ({"r2": 0.98001}, "Amdahl and the USL are equally close to the measured sizes."),
        ({"r2": None}, ""),
    ],
)
def test_which_law_is_closer_is_said_plainly(values, said):
    assert closer_law(law(**values)) == said


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "By the USL fastest at about 31 ranks [26, 37]."),
        ({"peak_workers_lo": 8.0}, "These sizes do not show whether there is a peak."),
        ({"peak_workers": None}, "No peak in sight."),
        (
            {"peak_workers": 7.6, "peak_workers_lo": 6.1, "peak_workers_hi": 9.4, "axis": "threads"},
            "By the USL fastest at about 8 threads [6, 9], between sizes that were measured.",
        ),
        (
            {"peak_workers": 7.6, "peak_workers_lo": 1.0, "peak_workers_hi": 60.0},
            "These sizes do not show whether there is a peak.",
        ),
        ({"usl_gamma": None}, "Too few sizes to tell whether there is a peak."),
    ],
)
def test_the_words_say_no_more_than_the_interval_of_the_peak(values, said):
    assert sentence(law(**dict.fromkeys(("speedup_limit_lo", "speedup_limit_hi")), **values)) == said


@pytest.mark.parametrize(
    ("low", "said"),
    [
        (7.4, "By Amdahl no number of ranks is more than 24.9 [7.4, 29.3] × as fast; no peak in sight."),
        (7.3, "No peak in sight."),
    ],
)
def test_a_limit_is_told_where_its_ends_are_no_more_than_a_factor_of_four_apart(low, said):
    assert sentence(law(peak_workers=None, speedup_limit_lo=low)) == said


def test_a_peak_that_the_sizes_do_not_decide_has_no_number():
    for peak in (31.1, 7.6):
        (_, row) = rows_of(laws([law(peak_workers=peak, peak_workers_lo=2.0)]))
        assert " undecided " in row
    (_, none) = rows_of(
        laws([law(usl_beta=0.0, peak_workers=None, peak_workers_lo=None, peak_workers_hi=None)])
    )
    assert " none " in none


def test_columns_of_a_law_that_no_case_has_are_left_out():
    (head, _) = rows_of(laws([law(usl_alpha=None, usl_beta=None, usl_gamma=None, r2=None)]))
    assert head == "case its laws say sizes serial fraction ± se its r²"


def test_the_error_of_what_communication_predicts_stands_at_each_size_that_was_measured():
    errors = [{"workers": 2, "relative_error": 0.031}, {"workers": 4, "relative_error": -0.117}]
    head, row = rows_of(laws([law(communication_errors=errors)]))
    assert head.endswith("USL r² communication's error")
    assert row.endswith("0.9995 +3 % at 2, −12 % at 4")


def test_the_table_stands_on_the_page_where_a_case_has_sizes_enough(page_of):
    assert 'id="laws"' in page_of[SCALING]
    assert "Scaling laws: one row per case" in page_of[SCALING]
    assert 'id="laws"' not in page_of[GPUS]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {},
            ["ddp: by the USL fastest at about 31 ranks [26, 37], fitted to 5 sizes up to 16."],
        ),
        ({"peak_workers_hi": 105.0}, []),
        ({"largest_workers": 4}, []),
        ({"peak_workers": None, "peak_workers_lo": None, "peak_workers_hi": None}, []),
    ],
)
def test_a_summary_tells_a_peak_that_is_near_and_narrow(values, told):
    assert list(peaks([law(**values)])) == told
