"""Power over a run."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, Drawing
from analysis.report.sensors import over_time


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    y = alt.Y(
        "power_w:Q",
        title="power of a device (W)",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(tickCount=3),
    )
    reading = alt.Tooltip("power_w:Q", title="power, W", format=",.3~r")
    return over_time(rows, y, reading, "those that draw most")


CHART = Chart(
    order=110,
    question="How much power does it draw?",
    reading="First ok repeat of each placement, up to 40 bins of time. Watts of one device: mean over all devices of "
    "all nodes. Hosts are dashed beside GPUs.",
    draw=_draw,
    wide=True,
)
