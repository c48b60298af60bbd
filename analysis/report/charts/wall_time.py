"""Wall time of a session, by what it was spent on."""

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
    shown,
)


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    labels = bars(rows, "wall_s")
    parts = ["start-up", "measured", "other", "lost"]
    scale = alt.Scale(domain=parts, range=theme.PART_COLOURS)
    view = (
        shown(base(), rows, labels)
        .mark_bar(size=14)
        .encode(
            x=alt.X("wall_s:Q", title="wall time, all repeats (s)", axis=alt.Axis(grid=True)),
            y=bar_axis(labels),
            color=alt.Color("part:N", scale=scale, title=None),
            order=alt.Order("part_order:Q"),
            tooltip=[
                alt.Tooltip("label:N", title="case"),
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("wall_s:Q", title="wall time, s", format=",.4~r"),
                alt.Tooltip("runs:Q", title="runs"),
            ],
        )
        .properties(height=bar_height(labels))
    )
    return Drawing(views={"": view}, note=bars_note(rows, labels, "that took longest"))


CHART = Chart(
    order=60,
    question="What did the session spend its time on?",
    reading="Start-up: until all ranks stand at the barrier. Measured: the measured steps. Other: warm-up, "
    "validation, ending. Lost: runs that are not ok.",
    draw=_draw,
    wide=True,
)
