"""Step time of every rank over the steps."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import Cases, Chart, base, distinct, panels


def _draw(rows: pl.DataFrame, _cases: Cases) -> alt.FacetChart:
    ranks = sorted(distinct(rows, "rank"))
    colour = alt.Color(
        "rank:N", scale=alt.Scale(domain=ranks, range=theme.categories(len(ranks))), title="rank"
    )
    drawing = (
        base()
        .mark_line(strokeWidth=1.2, opacity=0.85)
        .encode(
            x=alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickCount=4)),
            y=alt.Y(
                "step_ms:Q", title="step time (ms)", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4)
            ),
            color=colour,
            tooltip=[
                alt.Tooltip("panel:N", title="case"),
                alt.Tooltip("rank:N", title="rank"),
                alt.Tooltip("step:Q", title="from step"),
                alt.Tooltip("step_ms:Q", title="median step, ms", format=",.4~r"),
            ],
        )
    )
    drawn: alt.FacetChart = panels(drawing, "panel", rows, 110).resolve_scale(y="independent")
    return drawn


CHART = Chart(
    order=70,
    question="Is one rank slower than the others, or does it drift?",
    reading="First ok repeat of each placement, measured steps. Medians of up to 50 bins of neighbouring steps;"
    " beyond 8 ranks the 4 slowest and the 4 fastest. Each panel has its own time axis, which does not "
    "begin at zero.",
    draw=_draw,
    wide=True,
)
