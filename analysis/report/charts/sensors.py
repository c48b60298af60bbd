"""Sensors over a run: power, clock rate, temperature and utilisation, a panel per case."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing.chart import (
    Cases,
    Chart,
    Drawing,
    distinct,
    few_sizes,
    kind_dash,
    limit_note,
    line_tooltip,
    panels,
    sentences,
    size_colour,
)

HEIGHT = 120
"""CSS pixels of a panel."""


def _chart(
    *, order: int, question: str, reading: str, y: alt.Y, tooltip: alt.Tooltip, kept: str, statistic: str
) -> Chart:
    """A line per placement and kind of device. `kept` says which cases are drawn if there are many; `statistic` says
    which devices a line summarises."""

    def draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
        few = few_sizes(rows)
        lines = few.start.mark_line(strokeWidth=1.5, point={"size": 12}).encode(
            x=alt.X("time_s:Q", title="time since the barrier (s)", axis=alt.Axis(tickCount=4)),
            y=y,
            color=size_colour(few.rows),
            tooltip=line_tooltip(
                alt.Tooltip("kind:N", title="device"),
                alt.Tooltip("time_s:Q", title="time, s", format=".2f"),
                tooltip,
            ),
        )
        kinds = sorted(distinct(rows, "kind"))  # GPU before host
        if len(kinds) > 1:
            lines = lines.encode(strokeDash=kind_dash(kinds))
        note = sentences(limit_note(rows, "case_name", kept), few.note)
        return Drawing(views={"": panels(lines, "case_name", rows, HEIGHT)}, note=note)

    first = "First ok repeat of each placement, up to 40 bins of time."
    return Chart(
        order=order,
        question=question,
        reading=" ".join([first, statistic, reading]).strip(),
        draw=draw,
        wide=True,
        section="steps",
    )


CHARTS = {
    "utilisation": _chart(
        order=100,
        question="How busy is the machine?",
        statistic="Means over all nodes and devices.",
        reading="Hosts: the busy share of all processors, including other programs; dashed if GPUs are shown. GPUs: "
        "the share of time in which any kernel ran, which does not say how well the GPUs were used.",
        y=alt.Y(
            "utilisation:Q",
            title="utilisation (%)",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format=".0%", tickCount=3),
        ),
        tooltip=alt.Tooltip("utilisation:Q", title="utilisation", format=".1%"),
        kept="those least busy",
    ),
    "power": _chart(
        order=110,
        question="How much power does it draw?",
        statistic="Watts of one device: mean over all devices of all nodes.",
        reading="Hosts are dashed if GPUs are shown.",
        y=alt.Y(
            "power_w:Q", title="power of a device (W)", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=3)
        ),
        tooltip=alt.Tooltip("power_w:Q", title="power, W", format=",.3~r"),
        kept="those that draw most",
    ),
    "temperature": _chart(
        order=120,
        question="How hot does it get?",
        statistic="The hottest device of all nodes.",
        reading="",
        y=alt.Y(
            "temperature_c:Q",
            title="temperature (°C)",
            scale=alt.Scale(zero=False),
            axis=alt.Axis(tickCount=3),
        ),
        tooltip=alt.Tooltip("temperature_c:Q", title="temperature, °C", format=".3~r"),
        kept="the hottest",
    ),
    "clocks": _chart(
        order=130,
        question="Do the clocks hold?",
        statistic="The slowest device of all nodes: the others wait for it.",
        reading="A rate that falls under load is throttling, by power or by heat.",
        y=alt.Y(
            "clock_mhz:Q",
            title="clock rate (MHz)",
            scale=alt.Scale(zero=False),
            axis=alt.Axis(format=",d", tickCount=3),
        ),
        tooltip=alt.Tooltip("clock_mhz:Q", title="clock rate, MHz", format=",.4~r"),
        kept="the slowest",
    ),
}
