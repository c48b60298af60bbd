"""Wall time of a session, by what it was spent on."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import Cases, Chart, bar_height, base, distinct


def _draw(rows: pl.DataFrame, _cases: Cases) -> alt.Chart:
    parts = ["start-up", "measured", "other", "lost"]
    scale = alt.Scale(domain=parts, range=theme.PART_COLOURS)
    bars: alt.Chart = (
        base()
        .mark_bar(size=14)
        .encode(
            x=alt.X("wall_s:Q", title="wall time, all repeats (s)", axis=alt.Axis(grid=True)),
            y=alt.Y(
                "label:N", sort=distinct(rows, "label"), title=None, axis=alt.Axis(domain=False, ticks=False)
            ),
            color=alt.Color("part:N", scale=scale, title=None),
            order=alt.Order("part_order:Q"),
            tooltip=[
                alt.Tooltip("label:N", title="case"),
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("wall_s:Q", title="wall time, s", format=",.4~r"),
                alt.Tooltip("runs:Q", title="runs"),
            ],
        )
        .properties(height=bar_height(rows))
    )
    return bars


CHART = Chart(
    order=60,
    question="What did the session spend its time on?",
    reading="Start-up: until all ranks stand at the barrier. Measured: the measured steps. Other: warm-up, "
    "validation, ending. Lost: runs that are not ok.",
    draw=_draw,
)
