"""The table of predictions for sizes that were not run."""

from __future__ import annotations

from analysis.report.sections.prediction_table import MOST_ROWS, predictions
from tests.unit.report.conftest import GPUS, section_of
from tests.unit.report.test_session_page import rows_of, words


def test_only_sizes_that_nobody_ran_stand_in_it_marked_as_predicted(fitted):
    rows = rows_of(predictions(fitted.rows("predictions")))
    ddp, weak = rows[2 : rows.index("weak")], rows[rows.index("weak") + 1 :]
    ddp = [row for row in ddp if row]
    assert [row.split()[0] for row in ddp] == ["32", "64", "128"]  # 16 were measured, 128 the batch
    assert all("ranks predicted" in row for row in ddp + weak)
    assert all(row.count("≈") + row.count("cannot be said") == 3 for row in ddp + weak)
    assert [row.split()[0] for row in weak] == ["16", "32", "64", "128"]


def prediction(**values):
    row = {
        "case_name": "ddp", "axis": "ranks", "workers": 32, "law": "fitted", "speedup": 20.0, "speedup_lo": 18.0,
        "speedup_hi": 22.0, "efficiency": 0.625, "efficiency_lo": 0.5625, "efficiency_hi": 0.6875,
        "throughput": 2000.0, "throughput_lo": 1800.0, "throughput_hi": 2200.0, "throughput_unit": "examples/s",
        "left_out_error": 0.031,
    }  # fmt: skip
    return row | values


def test_an_interval_that_allows_anything_is_no_prediction():
    wide = prediction(**{f"{name}_lo": 1e-6 for name in ("speedup", "efficiency", "throughput")})
    assert rows_of(predictions([prediction(), wide]))[2:] == [
        "32 ranks predicted law ≈ 20.0× [18.0, 22.0] ≈ 62.5 % [56.2, 68.8] ≈ 2,000 [1,800, 2,200] +3 %",
        "32 ranks predicted law cannot be said cannot be said cannot be said +3 %",
    ]


def test_without_an_interval_the_prediction_stands_alone():
    alone = prediction(law="communication", speedup_lo=None, speedup_hi=None, left_out_error=None)
    row = rows_of(predictions([alone]))[2]
    assert "communication ≈ 20.0× ≈ 62.5 %" in row
    assert row.endswith(" –")


def test_of_very_many_the_first_are_shown():
    shown = predictions([prediction()] * 100)
    assert len(rows_of(shown)) == 2 + MOST_ROWS
    assert "The first 60 of 100 rows" in words(shown)


def test_chart_and_table_stand_in_one_section_and_vanish_where_nothing_is_predicted(fitted, page_of):
    section = section_of(fitted, "further")
    assert (
        section.index('id="prediction"') < section.index("<table") < section.index("CSV: predictions, 7 rows")
    )
    assert 'id="further"' not in page_of[GPUS]
