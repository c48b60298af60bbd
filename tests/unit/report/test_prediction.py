"""The chart of predictions: a size that was not run must not look measured."""

from __future__ import annotations

import polars as pl

from analysis.report.charts.prediction import CHART
from analysis.report.drawing.chart import drawing, specification
from tests.unit.report.test_charts import encodings, many, units_of


def marks(spec, kind):
    """Units of a specification with this type of mark."""
    return [unit for unit in units_of(spec) if unit["mark"]["type"] == kind]


def test_predictions_are_pale_dashed_and_hollow_and_no_measured_mark_is(fitted):
    drawn = drawing(CHART, fitted.charts["prediction"], fitted.cases)
    universal, serial = map(specification, drawn.views.values())
    for spec in (universal, serial):
        (line,) = [unit for unit in marks(spec, "line") if "strokeDash" in unit["mark"]]
        assert line["mark"]["opacity"] < 1
        hollow, filled = marks(spec, "point")
        assert (hollow["mark"]["filled"], filled["mark"]["filled"]) == (False, True)
        assert hollow["mark"]["opacity"] < filled["mark"]["opacity"] == 1
        assert "datum.kind === 'predicted'" in str(hollow["transform"])
        assert "datum.kind === 'measured'" in str(filled["transform"])
        assert encodings(hollow)["y"]["field"] == "speedup"
        assert encodings(filled)["y"]["field"] == "measured_speedup"
    assert [encodings(units_of(spec)[0])["y"]["scale"] for spec in (universal, serial)] == 2 * [
        encodings(units_of(universal)[0])["y"]["scale"]
    ]


def test_the_reader_chooses_the_law_that_predicts(fitted):
    rows, cases = fitted.charts["prediction"], fitted.cases
    drawn = drawing(CHART, rows, cases)
    assert list(drawn.views) == ["USL", "Amdahl or Gustafson"]
    strong = rows.filter(pl.col("scaling_mode") == "strong")
    assert list(drawing(CHART, strong, cases).views) == ["USL", "Amdahl"]
    few = strong.filter(pl.col("law") == "amdahl")
    assert list(drawing(CHART, few, cases).views) == ["Amdahl"]


def test_what_communication_predicts_is_a_choice_of_its_own_after_the_laws(fitted):
    rows, cases = fitted.charts["prediction"], fitted.cases
    sent = rows.filter(pl.col("law") == "amdahl").with_columns(law=pl.lit("communication"))
    drawn = drawing(CHART, pl.concat([rows, sent]), cases)
    assert list(drawn.views) == ["USL", "Amdahl or Gustafson", "communication"]
    alone = drawing(CHART, sent, cases)
    assert list(alone.views) == ["communication"]
    assert alone.note.startswith("Predicted from communication:")
    assert "communication" not in drawn.note


def test_of_many_cases_predictions_are_drawn_for_the_highest_and_the_lowest(fitted):
    rows, cases = many(fitted.charts["prediction"], 30)
    drawn = drawing(CHART, rows, cases)
    assert drawn.note.startswith("Drawn: the 3 highest and the 3 lowest of 30 cases")
