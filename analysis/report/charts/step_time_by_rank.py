"""Step time of every rank over the steps."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, Chart, Drawing, base, layered, limit_note, panels

_Y = alt.Y("rank_step_ms:Q", title="step time (ms)", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4))
_HALVES = alt.Scale(domain=["slower", "faster"], range=[theme.shades(1)[0], theme.shades(3)[2]])


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    start = base().encode(y=_Y, detail=alt.Detail("rank:N"))
    lines = start.mark_line(strokeWidth=1.2).encode(
        x=alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickCount=4)),
        color=alt.Color("half:N", scale=_HALVES, title="half of the ranks"),
        tooltip=[
            alt.Tooltip("panel:N", title="case"),
            alt.Tooltip("rank:N", title="rank"),
            alt.Tooltip("step:Q", title="from step"),
            alt.Tooltip("rank_step_ms:Q", title="median step, ms", format=",.4~r"),
        ],
    )
    ends = (
        start.transform_filter("isValid(datum.extreme)")
        .transform_joinaggregate(last="max(step)", groupby=["panel", "rank"])
        .transform_filter("datum.step === datum.last")
        .transform_joinaggregate(named="count()", middle="mean(rank_step_ms)", groupby=["panel"])
    )
    names = [
        # one name above its line and the other below, because lines often end close together; the texts of the others
        # are empty, because Vega warns of a layer without rows
        ends.transform_calculate(
            text=f"datum.named > 1 && datum.rank_step_ms {which} datum.middle ? datum.name : ''"
        )
        .mark_text(align="right", dx=-4, dy=dy, color=theme.INK)
        .encode(x=alt.X("step:Q", title="step"), text="text:N")
        for which, dy in ((">=", -9), ("<", 10))
    ]
    view = panels(layered(lines, *names), "panel", rows, 110).resolve_scale(y="independent")
    note = limit_note(rows, "panel", "those whose ranks differ most")
    return Drawing(views={"": view}, note=note)


CHART = Chart(
    order=70,
    question="Is one rank slower than the others, or does it drift?",
    reading="First ok repeat of each placement, measured steps. Medians of up to 50 bins of neighbouring steps;"
    " beyond 8 ranks the 4 slowest and the 4 fastest. The slowest and the fastest rank by "
    "their means are named. Each panel has its own time axis, which does not "
    "start at zero.",
    draw=_draw,
    wide=True,
    section="steps",
)
