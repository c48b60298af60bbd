"""The efficiency to a target, and the factors whose product it is."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.bars import bar_axis, bars, bars_note, shown
from analysis.report.drawing.chart import Cases, Chart, Drawing, base, distinct, layered, once

_PARTS = ("throughput per worker", "progress per example", "clock spent training", "efficiency to the target")
_KNOWN = ("estimate", "at most", "at least")
_ROW_PX = 18
_TITLE = "ratio to the baseline (log scale)"


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    labels = bars(rows, "ratio")
    present = [part for part in _PARTS if part in distinct(rows, "part")]
    start = shown(base(), rows, labels)
    x = alt.X(
        "ratio:Q",
        title=_TITLE,
        scale=alt.Scale(type="log"),
        axis=alt.Axis(grid=True),
    )
    offset = alt.YOffset("part:N", sort=present, scale=alt.Scale(domain=present, paddingOuter=0.6))
    colour = alt.Color(
        "part:N",
        title=None,
        scale=alt.Scale(domain=present, range=[*theme.shades(len(present) - 1), theme.INK]),
    )
    shape = alt.Shape(
        "known:N",
        title=None,
        legend=None,
        scale=alt.Scale(domain=list(_KNOWN), range=["circle", "triangle-left", "triangle-right"]),
    )
    tooltip = [
        alt.Tooltip("label:N", title="case"),
        alt.Tooltip("part:N", title="factor"),
        alt.Tooltip("known:N", title="known"),
        alt.Tooltip("ratio:Q", title="ratio", format=",.3~r"),
        alt.Tooltip("ratio_lo:Q", title="from", format=",.3~r"),
        alt.Tooltip("ratio_hi:Q", title="to", format=",.3~r"),
        alt.Tooltip("missed:Q", title="runs that missed the target"),
        alt.Tooltip("runs:Q", title="of"),
    ]
    y = bar_axis(labels)
    intervals = []
    if rows.get_column("ratio_lo").is_not_null().any():
        ends = alt.X("ratio_lo:Q", title=_TITLE)
        intervals = [
            start.mark_rule(strokeWidth=2).encode(x=ends, x2="ratio_hi:Q", y=y, yOffset=offset, color=colour)
        ]
    point = start.mark_point(filled=True, size=60, opacity=1).encode(
        x=x, y=y, yOffset=offset, color=colour, shape=shape, tooltip=tooltip
    )
    one = once().mark_rule(color=theme.MUTED, strokeDash=[3, 3]).encode(x=alt.datum(1))
    height = 52 + len(labels) * _ROW_PX * (len(present) + 1)
    return Drawing(
        views={"": layered(one, *intervals, point, height=height)},
        note=bars_note(rows, labels, "with the largest ratios"),
    )


CHART = Chart(
    order=9,
    question="Which factor costs the efficiency to the target?",
    reading="Each ratio is this size's to the baseline's, with its 95 % interval; left of 1 it costs time, and the "
    "efficiency is the product of the other three. A triangle is a bound: half of the runs or more missed the target, "
    "and the true value lies where it points.",
    draw=_draw,
    wide=True,
    section="target",
)
