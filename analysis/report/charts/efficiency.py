"""Efficiency over workers with the thresholds of the verdict."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import Cases, Chart, curves, layered, once, point_tooltip

_TITLE = "efficiency (%)"
_THRESHOLDS = {0.5: "acceptable", 0.75: "good", 0.9: "excellent"}
"""The least efficiency of each verdict, as docs and the view `scaling` have it."""


def _draw(rows: pl.DataFrame, cases: Cases) -> alt.LayerChart:
    y = alt.Y(
        "efficiency:Q",
        title=_TITLE,
        scale=alt.Scale(zero=True),
        axis=alt.Axis(format=".0%", values=_ticks(rows)),
    )
    tooltip = point_tooltip(
        alt.Tooltip("efficiency:Q", title="efficiency", format=".1%"),
        alt.Tooltip("efficiency_lo:Q", title="from", format=".1%"),
        alt.Tooltip("efficiency_hi:Q", title="to", format=".1%"),
        alt.Tooltip("verdict:N", title="verdict"),
    )
    return layered(
        _ideal(), *_thresholds(), *curves(rows, cases, "efficiency", y=y, title=_TITLE, tooltip=tooltip)
    ).properties(height=300)


def _ticks(rows: pl.DataFrame) -> list[float]:
    highest = max(1.0, rows.select(pl.max_horizontal("efficiency", "efficiency_hi").max()).item())
    return [tick / 4 for tick in range(int(highest * 4) + 2)]


def _ideal() -> alt.Chart:
    rule = once().mark_rule(color=theme.MUTED, strokeDash=[5, 4], strokeWidth=1.5)
    ideal: alt.Chart = rule.encode(y=alt.datum(1.0))
    return ideal


def _thresholds() -> list[alt.Chart]:
    """A dotted rule and, in the right margin, the verdict that begins there."""
    layers = []
    for least, name in _THRESHOLDS.items():
        layers.append(once().mark_rule(color=theme.MUTED, strokeDash=[1, 4]).encode(y=alt.datum(least)))
        label = once().mark_text(align="left", baseline="middle", dx=8, text=name)
        layers.append(label.encode(x=alt.value("width"), y=alt.datum(least)))
    return layers


CHART = Chart(
    order=20,
    question="What share of the added hardware is used?",
    reading="Speedup ÷ workers. Dashed: ideal. Dotted: least efficiency of a verdict. Bands: 95 % intervals "
    "over repeats.",
    draw=_draw,
)
