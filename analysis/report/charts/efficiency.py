"""Efficiency over workers with the thresholds of the verdict."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis import verdicts
from analysis.report import theme
from analysis.report.chart import Cases, Chart, Drawing, layered, once, point_tooltip, sentences
from analysis.report.curves import HEIGHT, Curve, curves, extremes_note
from analysis.report.headroom import bounded, cut_note, top

_TITLE = "efficiency (%)"


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    y = alt.Y(
        "efficiency:Q",
        title=_TITLE,
        scale=bounded(alt.Scale(zero=True), rows, "efficiency", ideal=1.0),
        axis=alt.Axis(format=".0%", values=_ticks(rows)),
    )
    tooltip = point_tooltip(
        alt.Tooltip("efficiency:Q", title="efficiency", format=".1%"),
        alt.Tooltip("efficiency_lo:Q", title="from", format=".1%"),
        alt.Tooltip("efficiency_hi:Q", title="to", format=".1%"),
        alt.Tooltip("verdict:N", title="verdict"),
    )
    curve = Curve(field="efficiency", y=y, title=_TITLE, tooltip=tooltip)
    view = layered(_ideal(), *_thresholds(), *curves(rows, cases, curve), height=HEIGHT)
    return Drawing(
        views={"": view},
        note=sentences(extremes_note(rows, cases, "efficiency"), cut_note(rows, "efficiency", 1.0)),
    )


def _ticks(rows: pl.DataFrame) -> list[float]:
    highest = top(rows, "efficiency", ideal=1.0)
    return [tick / 4 for tick in range(int(highest * 4) + 1)]


def _ideal() -> alt.Chart:
    rule = once().mark_rule(color=theme.MUTED, strokeDash=[5, 4], strokeWidth=1.5)
    ideal: alt.Chart = rule.encode(y=alt.YDatum(1.0))
    return ideal


def _thresholds() -> list[alt.Chart]:
    """A dotted rule and, in the right margin, the verdict that begins there; superlinear is beyond the ideal."""
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
    "intervals over repeats.",
    draw=_draw,
)
