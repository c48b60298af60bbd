"""Utilisation of processors and GPUs over a run."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, Drawing
from analysis.report.sensors import over_time


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    y = alt.Y(
        "utilisation:Q",
        title="utilisation (%)",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", tickCount=3),
    )
    reading = alt.Tooltip("utilisation:Q", title="utilisation", format=".1%")
    return over_time(rows, y, reading, "those least busy")


CHART = Chart(
    order=100,
    question="How busy is the machine?",
    reading="First ok repeat of each placement, up to 40 bins of time. Means over all nodes and devices. Hosts: the "
    "busy share of all processors, other programs included; dashed beside GPUs. GPUs: the share of time in "
    "which any kernel ran, which is not how well they were used.",
    draw=_draw,
    wide=True,
)
