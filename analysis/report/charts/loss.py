"""Losses of each case at all its sizes."""

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
from analysis.report.drawing.nonfinite import crosses, has_nonfinite, nonfinite_note


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    few = few_sizes(rows)
    start = few.start.encode(
        x=alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickCount=4)),
        color=size_colour(few.rows),
    )
    lines = start.mark_line().encode(
        y=alt.Y("loss:Q", title="training loss", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4)),
        size=size_width(few.rows),
        tooltip=line_tooltip(
            alt.Tooltip("repeat:Q", title="repeat"),
            alt.Tooltip("step:Q", title="step"),
            alt.Tooltip("loss:Q", title="loss", format=".5~r"),
        ),
    )
    marks = (
        [crosses(start, "loss", tooltip=line_tooltip(alt.Tooltip("step:Q")))]
        if has_nonfinite(rows, "loss")
        else []
    )
    return Drawing(
        views={"": panels(layered(lines, *marks), "case_name", rows, 150)},
        note=sentences(
            limit_note(rows, "case_name", "those whose sizes differ most in their last loss"),
            few.note,
            nonfinite_note(rows, "loss"),
        ),
    )


CHART = Chart(
    order=80,
    question="Does it learn the same at every size?",
    reading="Loss, no unit: mean over ranks, first ok repeat of each placement, including warm-up. Smaller sizes have "
    "thicker lines, so that lines that coincide are visible. Strong scaling must not change the curve; under weak "
    "scaling the global batch grows. Beyond 60 steps: means of 60 bins.",
    draw=_draw,
    wide=True,
    section="training",
)
