"""Losses of each case at all its sizes: the one that is trained, and others that the workload names."""

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


def _chart(
    *, order: int, question: str, reading: str, title: str, panel: str, kept: str, has_ends: bool
) -> Chart:
    """A panel per value of the column `panel`, with a line per placement. `title` is the y axis's; `kept` says which
    panels are drawn if not all are. With `has_ends`, a loss that is null ends its curve and is marked."""

    def draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
        few = few_sizes(rows)
        start = few.start.encode(
            x=alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickCount=4)),
            color=size_colour(few.rows),
        )
        lines = start.mark_line().encode(
            y=alt.Y("loss:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4)),
            size=size_width(few.rows),
            tooltip=line_tooltip(
                alt.Tooltip("repeat:Q", title="repeat"),
                alt.Tooltip("step:Q", title="step"),
                alt.Tooltip("loss:Q", title="loss", format=".5~r"),
            ),
        )
        ends = has_ends and has_nonfinite(rows, "loss")
        marks = [crosses(start, "loss", tooltip=line_tooltip(alt.Tooltip("step:Q")))] if ends else []
        return Drawing(
            views={"": panels(layered(lines, *marks), panel, rows, 150)},
            note=sentences(
                limit_note(rows, panel, kept), few.note, nonfinite_note(rows, "loss") if has_ends else ""
            ),
        )

    return Chart(order=order, question=question, reading=reading, draw=draw, wide=True, section="training")


CHARTS = {
    "loss": _chart(
        order=80,
        question="Does it learn the same at every size?",
        reading="Loss, no unit: mean over ranks, first ok repeat of each placement, including warm-up. Smaller sizes "
        "have thicker lines, so that lines that coincide are visible. Strong scaling must not change the curve; under "
        "weak scaling the global batch grows. Beyond 60 steps: means of 60 bins.",
        title="training loss",
        panel="case_name",
        kept="those whose sizes differ most in their last loss",
        has_ends=True,
    ),
    "named_losses": _chart(
        order=81,
        question="How do the other losses go?",
        reading="Losses that the workload names besides the one it trains, no unit: mean over ranks, first ok repeat "
        "of each placement, including warm-up. Smaller sizes have thicker lines. Beyond 60 steps: means of 60 bins.",
        title="loss",
        panel="panel",
        kept="the first in alphabetical order",
        has_ends=False,
    ),
}
