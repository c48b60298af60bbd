"""Efficiency over ranks, next to published curves."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, Chart, Drawing, once
from analysis.report.drawing.curves import bounded, top
from analysis.report.drawing.published import published_drawing


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    y = alt.Y(
        "efficiency:Q",
        title="efficiency (%)",
        scale=bounded(alt.Scale(zero=True), rows, "efficiency", ideal=1.0),
        axis=alt.Axis(
            format=".0%",
            values=[tick / 4 for tick in range(int(4 * top(rows, "efficiency", ideal=1.0)) + 1)],
        ),
    )
    ideal = once().mark_rule(color=theme.MUTED, strokeDash=[5, 4], strokeWidth=1.5)
    return published_drawing(rows, cases, y, "efficiency", "", ideal.encode(y=alt.YDatum(1.0)))


CHART = Chart(
    order=24,
    section="published",
    question="How does efficiency compare with published curves?",
    reading="Colour: this session, with 95 % intervals over repeats. Grey: published, one figure per size. Efficiency "
    "is relative to the smallest size of its own curve, so curves with different smallest sizes are not on one scale. "
    "Dashed: ideal.",
    draw=_draw,
)
