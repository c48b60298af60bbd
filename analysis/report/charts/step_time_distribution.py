"""Quantiles of step times as boxes."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import Cases, Chart, bar_height, base, case_colour, distinct, layered

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


def _draw(rows: pl.DataFrame, cases: Cases) -> alt.LayerChart:
    y = alt.Y("label:N", sort=distinct(rows, "label"), title=None, axis=alt.Axis(domain=False, ticks=False))
    tooltip = [
        alt.Tooltip("label:N", title="case"),
        alt.Tooltip("steps:Q", title="steps", format=","),
        alt.Tooltip("repeats:Q", title="repeats"),
        *(alt.Tooltip(f"{name}:Q", title=title, format=",.4~r") for name, title in _QUANTILES.items()),
    ]
    start = base().encode(y=y, color=case_colour(rows, cases).legend(None))
    low = alt.X("p5_ms:Q", title=_TITLE, scale=alt.Scale(zero=True), axis=alt.Axis(grid=True))
    whisker = start.mark_rule(strokeWidth=2).encode(x=low, x2="p95_ms:Q")
    box = start.mark_bar(size=12, cornerRadius=2).encode(
        x=alt.X("p25_ms:Q", title=_TITLE), x2="p75_ms:Q", tooltip=tooltip
    )
    median = base().mark_tick(color=theme.PAPER, thickness=2, size=12)
    ends = start.mark_point(size=14, filled=True, opacity=0.8)
    return layered(
        whisker,
        box,
        median.encode(y=y, x=alt.X("median_ms:Q", title=_TITLE), tooltip=tooltip),
        ends.encode(x=alt.X("min_ms:Q", title=_TITLE)),
        ends.encode(x=alt.X("max_ms:Q", title=_TITLE)),
    ).properties(height=bar_height(rows))


CHART = Chart(
    order=40,
    question="How steady are the steps?",
    reading="Box: the middle half of all measured steps of all ok repeats, notch: median, line: 5 % to 95 %, "
    "dots: fastest and slowest.",
    draw=_draw,
)
