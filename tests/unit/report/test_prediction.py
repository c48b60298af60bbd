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
    (view,) = drawing(CHART, fitted.charts["prediction"], fitted.cases).views.values()
    spec = specification(view)
    (line,) = [unit for unit in marks(spec, "line") if "strokeDash" in unit["mark"]]
    assert line["mark"]["opacity"] < 1
    hollow, filled = marks(spec, "point")
    assert (hollow["mark"]["filled"], filled["mark"]["filled"]) == (False, True)
    assert hollow["mark"]["opacity"] < filled["mark"]["opacity"] == 1
    assert "datum.kind === 'predicted'" in str(hollow["transform"])
    assert "datum.kind === 'measured'" in str(filled["transform"])
    assert encodings(hollow)["y"]["field"] == "speedup"
    assert encodings(filled)["y"]["field"] == "measured_speedup"


def test_what_communication_predicts_is_a_choice_next_to_the_laws_with_the_same_axes(fitted):
    rows, cases = fitted.charts["prediction"], fitted.cases
    sent = rows.with_columns(law=pl.lit("communication"))
    drawn = drawing(CHART, pl.concat([rows, sent]), cases)
    assert list(drawn.views) == ["law", "communication"]
    assert "communication" not in drawn.note
    scales = [encodings(units_of(specification(view))[0])["y"]["scale"] for view in drawn.views.values()]
    assert scales[0] == scales[1]
    alone = drawing(CHART, sent, cases)
    assert list(alone.views) == ["communication"]
    assert alone.note.startswith("Predicted from communication:")


def test_of_many_cases_predictions_are_drawn_for_the_highest_and_the_lowest(fitted):
    rows, cases = many(fitted.charts["prediction"], 30)
    drawn = drawing(CHART, rows, cases)
    assert drawn.note.startswith("Drawn: the 3 highest and the 3 lowest of 30 cases")
