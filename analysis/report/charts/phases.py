"""The four phases of a step, stacked."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import (
    Cases,
    Chart,
    Drawing,
    bar_axis,
    bar_height,
    bars,
    bars_note,
    base,
    distinct,
    shown,
)


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    labels = bars(rows, "phase_ms")
    phases = distinct(rows.sort("phase_order"), "phase")
    scale = alt.Scale(domain=phases, range=theme.PHASE_COLOURS)
    view = (
        shown(base(), rows, labels)
        .mark_bar(size=14)
        .encode(
            x=alt.X("phase_ms:Q", title="mean time of a step (ms)", axis=alt.Axis(grid=True)),
            y=bar_axis(labels),
            color=alt.Color("phase:N", scale=scale, title=None),
            order=alt.Order("phase_order:Q"),
            tooltip=[
                alt.Tooltip("label:N", title="case"),
                alt.Tooltip("phase:N", title="phase"),
                alt.Tooltip("phase_ms:Q", title="time, ms", format=",.4~r"),
                alt.Tooltip("share:Q", title="share of the step", format=".1%"),
            ],
        )
        .properties(height=bar_height(labels))
    )
    return Drawing(views={"": view}, note=bars_note(rows, labels, "longest steps"))


CHART = Chart(
    order=50,
    question="Where does a step spend its time?",
    reading="Mean over ranks, measured steps and ok repeats. Backward contains the communication that overlaps "
    "it, and waiting for other ranks.",
    draw=_draw,
)
