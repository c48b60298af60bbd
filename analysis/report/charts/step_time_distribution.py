"""Quantiles of step times as boxes."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.bars import bar_axis, bar_height, bars, bars_note, shown
from analysis.report.drawing.chart import Cases, Chart, Drawing, base, case_colour, layered

_TITLE = "time of a step (ms)"
_QUANTILES = {
    "min_ms": "fastest, ms",
    "p5_ms": "5 %, ms",
    "p25_ms": "25 %, ms",
    "median_ms": "median, ms",
    "p75_ms": "75 %, ms",
    "p95_ms": "95 %, ms",
    "max_ms": "slowest, ms",
}


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    labels = bars(rows, "spread")
    y = bar_axis(labels)
    tooltip = [
        alt.Tooltip("label:N", title="case"),
        alt.Tooltip("steps:Q", title="steps", format=","),
        alt.Tooltip("repeats:Q", title="repeats"),
        *(alt.Tooltip(f"{name}:Q", title=title, format=",.4~r") for name, title in _QUANTILES.items()),
    ]
    start = shown(base(), rows, labels).encode(y=y, color=_colour(rows, cases))
    low = alt.X("p5_ms:Q", title=_TITLE, scale=alt.Scale(zero=True), axis=alt.Axis(grid=True))
    whisker = start.mark_rule(strokeWidth=2).encode(x=low, x2=alt.X2("p95_ms:Q"))
    box = start.mark_bar(size=12, cornerRadius=2).encode(
        x=alt.X("p25_ms:Q", title=_TITLE), x2=alt.X2("p75_ms:Q"), tooltip=tooltip
    )
    median = shown(base(), rows, labels).mark_tick(color=theme.PAPER, thickness=2, size=12)
    ends = start.mark_point(size=14, filled=True, opacity=0.8)
    view = layered(
        whisker,
        box,
        median.encode(y=y, x=alt.X("median_ms:Q", title=_TITLE), tooltip=tooltip),
        ends.encode(x=alt.X("min_ms:Q", title=_TITLE)),
        ends.encode(x=alt.X("max_ms:Q", title=_TITLE)),
        height=bar_height(labels),
    )
    note = bars_note(rows, labels, "least steady, by (95 % − 5 %) ÷ median")
    return Drawing(views={"": view}, note=note)


def _colour(rows: pl.DataFrame, cases: Cases) -> alt.Color | alt.ColorValue:
    """A colour per case; if there are more cases than colours, one grey, since the labels name the cases."""
    if len(cases) > theme.CATEGORIES:
        return alt.ColorValue(theme.shades(1)[0])
    return case_colour(rows, cases).legend(None)


CHART = Chart(
    order=40,
    question="How steady are the steps?",
    reading="Box: the middle half of all measured steps of all ok repeats, notch: median, line: 5 % to 95 %, "
    "dots: fastest and slowest.",
    draw=_draw,
    section="steps",
)
