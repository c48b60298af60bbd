"""Collective operations over message size: bus bandwidth and time, a view per operation and a line per placement."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing.chart import (
    Cases,
    Chart,
    Drawing,
    distinct,
    few_sizes,
    sentences,
    size_colour,
)
from analysis.report.drawing.curves import cut_note
from analysis.report.drawing.sizes import Result, size_axis, size_lines


def _chart(*, order: int, question: str, reading: str, result: Result) -> Chart:
    def draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
        few = few_sizes(rows)
        x = size_axis(rows, "message_bytes", "message size", in_bytes=True)
        looks = {"color": size_colour(few.rows)}
        views = {}
        for op in distinct(few.rows, "op"):
            start = few.start.transform_filter(alt.FieldEqualPredicate(field="op", equal=op))
            views[op] = size_lines(start, few.rows.filter(pl.col("op") == op), x, result, looks)
        note = sentences(few.note, cut_note(few.rows, result.field))
        return Drawing(views=views, choice="operation", note=note)

    return Chart(order=order, question=question, reading=reading, draw=draw, section="machine")


def _tooltip(*values: alt.Tooltip) -> list[alt.Tooltip]:
    """The first lines of every point's tooltip, then the values."""
    return [
        alt.Tooltip("placement:N", title="placement"),
        alt.Tooltip("message_bytes:Q", title="message, bytes", format=","),
        alt.Tooltip("repeats:Q", title="repeats"),
        *values,
        alt.Tooltip("oversubscribed:N", title="oversubscribed"),
    ]


CHARTS = {
    "collective_bandwidth": _chart(
        order=2,
        question="How fast do ranks exchange data?",
        reading="Bus bandwidth: the rate at which a rank's link carries data, if the operation moves no more than it "
        "must. Size ÷ time falls with the number of ranks even on perfect links; bus bandwidth does not, so it can be "
        "compared with the hardware's specification. Computed as by nccl-tests; 1 GB is 10⁹ bytes. Geometric mean over "
        "repeats, bars: 95 % intervals.",
        result=Result(
            field="bus_gbps",
            title="bus bandwidth (GB/s)",
            tooltip=_tooltip(
                alt.Tooltip("bus_gbps:Q", title="bus bandwidth, GB/s", format=",.4~r"),
                alt.Tooltip("bus_gbps_lo:Q", title="from, GB/s", format=",.4~r"),
                alt.Tooltip("bus_gbps_hi:Q", title="to, GB/s", format=",.4~r"),
                alt.Tooltip("algorithm_gbps:Q", title="size ÷ time, GB/s", format=",.4~r"),
            ),
            axis=alt.Axis(format=",~r"),
        ),
    ),
    "collective_time": _chart(
        order=4,
        question="How long does an exchange take?",
        reading="Both axes are logarithmic. A flat line is bound by latency: many small messages cost many times as "
        "much as one that holds them all. A rising line is bound by bandwidth. Geometric mean over repeats, bars: 95 % "
        "intervals.",
        result=Result(
            field="time_us",
            title="time of an operation (µs)",
            tooltip=_tooltip(
                alt.Tooltip("time_us:Q", title="time, µs", format=",.4~r"),
                alt.Tooltip("time_us_lo:Q", title="from, µs", format=",.4~r"),
                alt.Tooltip("time_us_hi:Q", title="to, µs", format=",.4~r"),
            ),
            axis=alt.Axis(format=",~r"),
            is_log=True,
        ),
    ),
}
