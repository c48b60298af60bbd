"""Efficiency over workers with the thresholds of the verdict."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, Chart, Drawing, layered, once, point_tooltip, sentences
from analysis.report.drawing.curves import HEIGHT, Curve, bounded, curves, cut_note, extremes_note, top
from analysis.wording import verdicts

_TITLE = "efficiency (%)"


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    ticks = [tick / 4 for tick in range(int(4 * top(rows, "efficiency", ideal=1.0)) + 1)]
    y = alt.Y(
        "efficiency:Q",
        title=_TITLE,
        scale=bounded(alt.Scale(zero=True), rows, "efficiency", ideal=1.0),
        axis=alt.Axis(format=".0%", values=ticks),
    )
    tooltip = point_tooltip(
        alt.Tooltip("efficiency:Q", title="efficiency", format=".1%"),
        alt.Tooltip("efficiency_lo:Q", title="from", format=".1%"),
        alt.Tooltip("efficiency_hi:Q", title="to", format=".1%"),
        alt.Tooltip("verdict:N", title="verdict"),
    )
    ideal = once().mark_rule(color=theme.MUTED, strokeDash=[5, 4], strokeWidth=1.5)
    curve = Curve(field="efficiency", y=y, title=_TITLE, tooltip=tooltip)
    layers = [ideal.encode(y=alt.YDatum(1.0)), *_thresholds(), *curves(rows, cases, curve)]
    return Drawing(
        views={"": layered(*layers, height=HEIGHT)},
        note=sentences(extremes_note(rows, cases, "efficiency"), cut_note(rows, "efficiency", 1.0)),
    )


def _thresholds() -> list[alt.Chart]:
    """A dotted rule for each verdict's least efficiency, named in the right margin; superlinear is beyond the ideal."""
    layers = []
    for name, least in reversed([item for item in verdicts.limits().items() if item[1] <= 1]):
        layers.append(once().mark_rule(color=theme.MUTED, strokeDash=[1, 4]).encode(y=alt.YDatum(least)))
        label = once().mark_text(x="width", align="left", baseline="middle", dx=8, text=name)
        layers.append(label.encode(y=alt.YDatum(least)))
    return layers


CHART = Chart(
    order=20,
    question="What share of the added hardware is used?",
    reading="Speedup ÷ workers. Dashed: ideal. Dotted: least efficiency of a verdict. Bars and bands: 95 % "
    "intervals over repeats; none if repeats are too few.",
    draw=_draw,
    shows_finding=True,
)
