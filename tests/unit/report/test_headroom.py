"""Axes end near the values, even if an interval is very long."""

from __future__ import annotations

import altair as alt
import polars as pl
import pytest

from analysis.report.drawing.curves import bounded, cut_note, top

POINTS = pl.DataFrame({"x": [1.0, 2.0], "x_lo": [0.9, 1.5], "x_hi": [1.1, 2.6]})
LONG = pl.DataFrame({"x": [1.0, 2.0], "x_lo": [0.9, 0.001], "x_hi": [1.1, 80.0]})


def test_an_interval_that_is_not_long_is_drawn_whole() -> None:
    assert top(POINTS, "x") == 2.6
    assert cut_note(POINTS, "x") == ""


def test_a_long_interval_is_cut_and_the_chart_says_so() -> None:
    assert top(LONG, "x") == 3.0
    assert "continue" in cut_note(LONG, "x")


def test_the_ideal_lies_within() -> None:
    assert top(LONG, "x", ideal=8) == 12
    assert top(POINTS, "x", ideal=8) == 8


def test_a_logarithmic_axis_does_not_begin_at_the_end_of_a_long_interval() -> None:
    scale = bounded(alt.Scale(type="log", base=2), LONG, "x").to_dict()
    assert (scale["domainMin"], scale["domainMax"]) == (0.25, 3.0)
    assert "domainMin" not in bounded(alt.Scale(zero=True), LONG, "x").to_dict()


@pytest.mark.parametrize("rows", [POINTS.drop("x_lo", "x_hi"), POINTS.with_columns(x_lo=None, x_hi=None)])
def test_points_without_intervals_end_the_axis_themselves(rows: pl.DataFrame) -> None:
    assert top(rows, "x") == 2.0
    assert cut_note(rows, "x") == ""
