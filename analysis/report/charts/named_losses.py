"""The losses that a workload names besides the one it trains, for each case at all its sizes."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing.chart import (
    Cases,
    Chart,
    Drawing,
    few_sizes,
    layered,
    limit_note,
    line_tooltip,
    panels,
    sentences,
    size_colour,
    size_width,
)


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    few = few_sizes(rows)
    lines = few.start.mark_line().encode(
        x=alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickCount=4)),
        y=alt.Y("loss:Q", title="loss", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4)),
        color=size_colour(few.rows),
        size=size_width(few.rows),
        tooltip=line_tooltip(
            alt.Tooltip("repeat:Q", title="repeat"),
            alt.Tooltip("step:Q", title="step"),
            alt.Tooltip("loss:Q", title="loss", format=".5~r"),
        ),
    )
    note = limit_note(rows, "panel", "the first in alphabetical order")
    return Drawing(views={"": panels(layered(lines), "panel", rows, 150)}, note=sentences(note, few.note))


CHART = Chart(
    order=81,
    question="How do the other losses go?",
    reading="Losses that the workload names besides the one it trains, no unit: mean over ranks, first ok repeat of "
    "each placement, including warm-up. Smaller sizes have thicker lines. Beyond 60 steps: means of 60 bins.",
    draw=_draw,
    wide=True,
)
