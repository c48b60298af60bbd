"""Clock rate over a run."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, Drawing
from analysis.report.sensors import over_time


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    y = alt.Y(
        "clock_mhz:Q",
        title="clock rate (MHz)",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(format=",d", tickCount=3),
    )
    reading = alt.Tooltip("clock_mhz:Q", title="clock rate, MHz", format=",.4~r")
    return over_time(rows, y, reading, "the slowest")


CHART = Chart(
    order=130,
    question="Do the clocks hold?",
    reading="First ok repeat of each placement, up to 40 bins of time. The slowest device of all nodes: the others "
    "wait for it. A rate that falls under load is throttling, by power or by heat.",
    draw=_draw,
    wide=True,
)
