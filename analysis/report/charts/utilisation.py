"""Utilisation of processors and GPUs over a run."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import Chart, base, distinct, panels


def _draw(rows: pl.DataFrame) -> alt.FacetChart:
    devices = sorted(distinct(rows, "device"), key=lambda device: (device != "host", len(device), device))
    scale = alt.Scale(domain=devices, range=theme.categories(len(devices)))
    drawing = (
        base()
        .mark_line(strokeWidth=1.4, point={"size": 12})
        .encode(
            x=alt.X("time_s:Q", title="time since the barrier (s)", axis=alt.Axis(tickCount=4)),
            y=alt.Y(
                "utilisation:Q",
                title="utilisation (%)",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%", tickCount=3),
            ),
            color=alt.Color("device:N", scale=scale, title=None),
            tooltip=[
                alt.Tooltip("panel:N", title="case"),
                alt.Tooltip("device:N", title="device"),
                alt.Tooltip("time_s:Q", title="time, s", format=".2f"),
                alt.Tooltip("utilisation:Q", title="utilisation", format=".1%"),
            ],
        )
    )
    return panels(drawing, "panel", rows, 90)


CHART = Chart(
    order=90,
    question="How busy is the machine?",
    reading="First node, first ok repeat of each placement, means of up to 40 bins of time. Host: share of all "
    "its processors, other programs included. GPU: share of time in which any kernel ran, which is not "
    "how well it was used.",
    draw=_draw,
    wide=True,
)
