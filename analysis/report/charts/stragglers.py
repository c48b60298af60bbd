"""How much longer each rank takes than the median rank, with its node."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import (
    Cases,
    Chart,
    Drawing,
    base,
    distinct,
    layered,
    limit_note,
    panels,
)

LIMIT = 0.02
"""Share of the mean step below which an excess does not matter, as in the table stragglers."""
_RANKS = alt.Axis(
    format="d",
    tickCount=4,
    tickMinStep=1,
    labelExpr="datum.value === floor(datum.value) ? datum.label : ''",  # with two ranks, Vega adds a tick between them
)
_NAMED_NODES = 8
_JUDGED = ["as the others", "straggler"]


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    axis = alt.Axis(format=".1~%", tickCount=4)
    start = base().encode(
        x=alt.X("rank:Q", title="rank", scale=alt.Scale(padding=8, nice=False), axis=_RANKS),
        y=alt.Y("excess_of_step:Q", title="excess (% of step)", axis=axis),
        color=_NODES,
    )
    limit = base().mark_rule(color=theme.MUTED, strokeDash=[4, 4]).encode(y=alt.datum(LIMIT))
    marks = start.mark_point(filled=True, size=55, opacity=1).encode(
        shape=alt.Shape(
            "judged:N", title=None, scale=alt.Scale(domain=_JUDGED, range=["circle", "triangle-up"])
        ),
        tooltip=_TOOLTIP,
    )
    layers = [limit, marks]
    if rows.get_column("excess_of_step_lo").is_not_null().any():
        layers.insert(1, _intervals(start, axis))
    if 1 < len(distinct(rows, "node")) <= _NAMED_NODES:
        layers.append(_names())
    view = panels(layered(*layers), "panel", rows, 130).resolve_scale(x="independent", y="independent")
    note = limit_note(rows, "panel", "those whose ranks differ most")
    return Drawing(views={"": view}, note=note)


def _names() -> alt.Chart:
    """The name of each node above its ranks."""
    middles = base().transform_aggregate(rank="mean(rank)", groupby=["panel", "node"])
    named: alt.Chart = middles.mark_text(y=0, dy=-2, baseline="bottom", color=theme.MUTED)
    return named.encode(x=alt.X("rank:Q", title="rank"), text=alt.Text("node:N"))


def _intervals(start: alt.Chart, axis: alt.Axis) -> alt.Chart:
    """Intervals. A rank without one gets a line of length zero: a scale without values would have no extent."""
    low, high = (
        f"isValid(datum.excess_of_step_{end}) ? datum.excess_of_step_{end} : datum.excess_of_step"
        for end in ("lo", "hi")
    )
    drawn: alt.Chart = start.transform_calculate(low=low, high=high).mark_rule()
    return drawn.encode(y=alt.Y("low:Q", title="excess (% of step)", axis=axis), y2=alt.Y2("high:Q"))


_NODES = alt.Color(
    "alternation:N",
    scale=alt.Scale(domain=["even nodes", "odd nodes"], range=[theme.shades(1)[0], theme.shades(2)[1]]),
    legend=None,
)


_TOOLTIP = [
    alt.Tooltip("panel:N", title="case"),
    alt.Tooltip("rank:Q", title="rank"),
    alt.Tooltip("node:N", title="node"),
    alt.Tooltip("excess_of_step:Q", title="excess of the step", format=".2%"),
    alt.Tooltip("excess_of_step_lo:Q", title="from", format=".2%"),
    alt.Tooltip("excess_of_step_hi:Q", title="to", format=".2%"),
    alt.Tooltip("excess_ms:Q", title="excess, ms", format=",.3~r"),
    alt.Tooltip("times_slowest_share:Q", title="steps in which it was last", format=".0%"),
    alt.Tooltip("judged:N", title="judged"),
]

CHART = Chart(
    order=71,
    question="Which ranks are behind, and on which node?",
    reading="How much longer than the median rank each rank takes before it first waits for the others, as a share of "
    "the mean step; bars: 95 % intervals over repeats. Dashed: 2 %, below which it does not matter. Nodes alternate "
    "between dark and light; triangles are stragglers. Beyond 128 ranks, the 64 furthest behind and the 64 furthest "
    "ahead.",
    draw=_draw,
    wide=True,
    section="steps",
)
