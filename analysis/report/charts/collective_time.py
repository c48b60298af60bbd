"""Time of an operation over message size, for every collective operation."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, Drawing
from analysis.report.exchange import exchange, tooltip
from analysis.report.sizes import Result


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    shown = tooltip(
        alt.Tooltip("time_us:Q", title="time, µs", format=",.4~r"),
        alt.Tooltip("time_us_lo:Q", title="from, µs", format=",.4~r"),
        alt.Tooltip("time_us_hi:Q", title="to, µs", format=",.4~r"),
    )
    axis = alt.Axis(format=",~r")
    result = Result(field="time_us", title="time of an operation (µs)", tooltip=shown, axis=axis, is_log=True)
    return exchange(rows, result)


CHART = Chart(
    order=4,
    question="How long does an exchange take?",
    reading="Both axes are logarithmic. Where a line is flat, latency decides: many small messages cost many times as "
    "much as one that holds them all. Where it rises, bandwidth decides. Geometric mean over repeats, bars: 95 % "
    "intervals.",
    draw=_draw,
    machine=True,
)
