"""The four phases of a step, stacked."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import Cases, Chart, bar_height, base, distinct


def _draw(rows: pl.DataFrame, _cases: Cases) -> alt.Chart:
    phases = distinct(rows.sort("phase_order"), "phase")
    scale = alt.Scale(domain=phases, range=theme.PHASE_COLOURS)
    bars: alt.Chart = (
        base()
        .mark_bar(size=14)
        .encode(
            x=alt.X("phase_ms:Q", title="mean time of a step (ms)", axis=alt.Axis(grid=True)),
            y=alt.Y(
                "label:N", sort=distinct(rows, "label"), title=None, axis=alt.Axis(domain=False, ticks=False)
            ),
            color=alt.Color("phase:N", scale=scale, title=None),
            order=alt.Order("phase_order:Q"),
            tooltip=[
                alt.Tooltip("label:N", title="case"),
                alt.Tooltip("phase:N", title="phase"),
                alt.Tooltip("phase_ms:Q", title="time, ms", format=",.4~r"),
                alt.Tooltip("share:Q", title="share of the step", format=".1%"),
            ],
        )
        .properties(height=bar_height(rows))
    )
    return bars


CHART = Chart(
    order=50,
    question="Where does a step spend its time?",
    reading="Mean over ranks, measured steps and ok repeats. Backward contains the communication that overlaps "
    "it, and waiting for other ranks.",
    draw=_draw,
)
