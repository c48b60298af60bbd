"""The table of the page with the batches that fit."""

from __future__ import annotations

from analysis.report.sections.batch_table import batches
from tests.unit.report.conftest import SCALING
from tests.unit.report.test_session_page import rows_of, words


def batch_row(**values):
    row = {
        "case_name": "ddp", "placement": "1x4", "largest_micro_batch": 1024, "too_large_micro_batch": 2048,
        "too_large_status": "oom", "used_bytes": 70e9, "available_bytes": 80e9, "headroom_bytes": 10e9,
        "micro_batch": 512, "accumulate": 3, "global_batch": 6144,
    }  # fmt: skip
    return row | values


def test_what_fits_stands_beside_what_does_not_memory_and_what_was_measured():
    assert rows_of(batches([batch_row()])) == [
        "case placement fits does not fit used available left measured global batch",
        "ddp 1x4 1,024 2,048 (oom) 65.2 GiB 74.5 GiB 9.31 GiB 3 x 512 6,144",
    ]


def test_what_is_not_known_is_a_dash_and_a_search_that_met_no_limit_says_so():
    unknown = dict.fromkeys(
        ("used_bytes", "available_bytes", "headroom_bytes", "micro_batch", "global_batch")
    )
    rows = rows_of(
        batches([
            batch_row(largest_micro_batch=None, **unknown),
            batch_row(too_large_micro_batch=None, too_large_status=None),
        ])
    )  # fmt: skip
    assert rows[1] == "ddp 1x4 – 2,048 (oom) – – – – –"
    assert rows[2] == "ddp 1x4 1,024 none tried 65.2 GiB 74.5 GiB 9.31 GiB 3 x 512 6,144"


def test_of_many_rows_the_first_are_shown_and_all_are_counted():
    shown = batches([batch_row() for _ in range(50)])
    assert len(rows_of(shown)) == 1 + 40
    assert "The first 40 of 50 rows; the CSV has all." in words(shown)


def test_without_a_search_there_is_no_such_section(page_of):
    assert 'id="batches"' not in page_of[SCALING]
