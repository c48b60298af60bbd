"""The wall time of a session, by use."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.bars import Parts, stacked
from analysis.report.drawing.chart import Cases, Chart, Drawing

_PARTS = Parts(
    part="part",
    names=["start-up", "measured", "other", "lost"],
    colours=theme.shades(4),
    value="wall_s",
    title="wall time, all repeats (s)",
    tooltip=[
        alt.Tooltip("wall_s:Q", title="wall time, s", format=",.4~r"),
        alt.Tooltip("runs:Q", title="runs"),
    ],
    kept="that took longest",
)


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    return stacked(rows, _PARTS)


CHART = Chart(
    order=60,
    question="What did the session spend its time on?",
    reading="Start-up: until all ranks are at the barrier. Measured: the measured steps. Other: warm-up, validation, "
    "shutdown. Lost: runs that are not ok.",
    draw=_draw,
    wide=True,
    section="steps",
)
