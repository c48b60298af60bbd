"""Step time of every rank over the steps."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, Chart, Drawing, base, distinct, limit_note, panels


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    drawing = (
        base()
        .mark_line(strokeWidth=1.2, opacity=0.85)
        .encode(
            x=alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickCount=4)),
            y=alt.Y(
                "rank_step_ms:Q",
                title="step time (ms)",
                scale=alt.Scale(zero=False),
                axis=alt.Axis(tickCount=4),
            ),
            color=_colour(rows),
            detail=alt.Detail("rank:N"),
            tooltip=[
                alt.Tooltip("panel:N", title="case"),
                alt.Tooltip("rank:N", title="rank"),
                alt.Tooltip("step:Q", title="from step"),
                alt.Tooltip("rank_step_ms:Q", title="median step, ms", format=",.4~r"),
            ],
        )
    )
    view = panels(drawing, "panel", rows, 110).resolve_scale(y="independent")
    note = limit_note(rows, "panel", "those whose ranks differ most")
    return Drawing(views={"": view}, note=note)


def _colour(rows: pl.DataFrame) -> alt.Color:
    """A colour per rank; if there are more ranks than colours, one for each half."""
    ranks = sorted(distinct(rows, "rank"))
    if len(ranks) <= theme.CATEGORIES:
        scale = alt.Scale(domain=ranks, range=theme.categories(len(ranks)))
        return alt.Color("rank:N", scale=scale, title="rank")
    halves = alt.Scale(domain=["slower", "faster"], range=theme.categories(2)[::-1])
    return alt.Color("half:N", scale=halves, title="half of the ranks")


CHART = Chart(
    order=70,
    question="Is one rank slower than the others, or does it drift?",
    reading="First ok repeat of each placement, measured steps. Medians of up to 50 bins of neighbouring steps;"
    " beyond 8 ranks the 4 slowest and the 4 fastest. Each panel has its own time axis, which does not "
    "start at zero.",
    draw=_draw,
    wide=True,
    section="steps",
)
