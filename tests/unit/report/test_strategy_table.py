"""The table of the page with the recommended strategy for each size."""

from __future__ import annotations

from analysis.report.sections.strategy_table import strategies
from tests.factory import Case
from tests.unit.analysis.conftest import stored_as
from tests.unit.report.conftest import GPUS, SCALING, table_of
from tests.unit.report.test_session_page import rows_of, words


def strategy_row(**values):
    row = {
        "reference_case": "ddp", "case_name": "fsdp", "placement": "1x4", "time_ratio": 1.123, "time_ratio_lo": 1.08,
        "time_ratio_hi": 1.16, "reference_peak_memory_bytes": 10e9, "peak_memory_bytes": 5.9e9,
        "recommendation": "ddp", "reason": "ddp: 12 % more examples/s [8, 16] and both fit",
        "only_skipped": False,
    }  # fmt: skip
    return row | values


def test_the_recommended_strategy_stands_beside_its_reason_and_figures():
    rows = rows_of(strategies([strategy_row()]))
    assert rows == [
        "cases placement recommended because time [95 %] memory of a rank",
        "ddp, fsdp 1x4 ddp 12 % more examples/s [8, 16] and both fit 1.12× [1.08, 1.16] 9.31 GiB, 5.49 GiB",
    ]


def test_what_is_not_known_of_a_strategy_is_a_dash():
    reason = "undecided: fsdp has no ok run"
    unknown = dict.fromkeys(("time_ratio", "time_ratio_lo", "time_ratio_hi", "peak_memory_bytes"))
    (_, row) = rows_of(
        strategies([strategy_row(recommendation="undecided", reason=reason, fits=None, **unknown)])
    )
    assert row == "ddp, fsdp 1x4 undecided fsdp has no ok run – 9.31 GiB, –"


def test_of_many_pairs_the_first_are_shown_and_all_are_counted():
    shown = strategies([strategy_row() for _ in range(50)])
    assert len(rows_of(shown)) == 1 + 40
    assert "The first 40 of 50 rows; the CSV has all." in words(shown)


def test_pairs_of_which_a_side_was_only_skipped_are_left_out_and_counted():
    skipped = strategy_row(only_skipped=True)
    shown = strategies([strategy_row(), skipped, skipped])
    assert len(rows_of(shown)) == 1 + 1
    assert "2 pairs are left out here because one side was skipped; Coverage says why." in words(shown)
    assert "1 pair is left out here because one side was skipped" in words(
        strategies([strategy_row(), skipped])
    )
    assert strategies([skipped]) == ""


STEPS = dict.fromkeys((1, 2, 4), 100.0)
EVERY = {(2, repeat): "skipped" for repeat in range(3)} | {(4, repeat): "failed" for repeat in range(3)}
SOME = {(1, 0): "skipped"}


@stored_as(
    Case(name="ddp", step_ms=STEPS, statuses=EVERY | SOME), Case(name="fsdp", strategy="fsdp", step_ms=STEPS)
)
def test_a_side_that_failed_is_not_one_that_was_skipped(stored):
    pairs = table_of(*stored, "strategies")
    assert {pair["placement"]: pair["only_skipped"] for pair in pairs} == {
        "1x1": False,
        "1x2": True,
        "1x4": False,
    }


def test_without_two_strategies_there_is_no_such_section(page_of):
    assert 'id="strategies"' not in page_of[GPUS]
    assert 'id="strategies"' in page_of[SCALING]
