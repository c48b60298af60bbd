"""Bus bandwidth over message size, for every collective operation."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, Drawing
from analysis.report.exchange import exchange, tooltip
from analysis.report.sizes import Result


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    shown = tooltip(
        alt.Tooltip("bus_gbps:Q", title="bus bandwidth, GB/s", format=",.4~r"),
        alt.Tooltip("bus_gbps_lo:Q", title="from, GB/s", format=",.4~r"),
        alt.Tooltip("bus_gbps_hi:Q", title="to, GB/s", format=",.4~r"),
        alt.Tooltip("algorithm_gbps:Q", title="size ÷ time, GB/s", format=",.4~r"),
    )
    axis = alt.Axis(format=",~r")
    return exchange(rows, Result(field="bus_gbps", title="bus bandwidth (GB/s)", tooltip=shown, axis=axis))


CHART = Chart(
    order=2,
    question="How fast do ranks exchange data?",
    reading="Bus bandwidth: the rate at which a rank's link carries data, if the operation moves no more of it than it "
    "must. Size ÷ time falls with the number of ranks even on perfect links; bus bandwidth does not, so it can be held "
    "against what the hardware promises. Made as nccl-tests makes it; 1 GB is 10⁹ bytes. Geometric mean over repeats, "
    "bars: 95 % intervals.",
    draw=_draw,
    machine=True,
)
