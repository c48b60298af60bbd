"""Temperature over a run."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, Drawing
from analysis.report.sensors import over_time


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    y = alt.Y(
        "temperature_c:Q",
        title="temperature (°C)",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(tickCount=3),
    )
    reading = alt.Tooltip("temperature_c:Q", title="temperature, °C", format=".3~r")
    return over_time(rows, y, reading, "the hottest")


CHART = Chart(
    order=120,
    question="How hot does it get?",
    reading="First ok repeat of each placement, up to 40 bins of time. The hottest device of all nodes.",
    draw=_draw,
    wide=True,
)
