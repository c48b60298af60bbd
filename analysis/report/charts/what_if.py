"""The speed of a step on networks of another bandwidth."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, Chart, Drawing, base, case_colour, layered, limit_note, once

_TITLE = "speed of a step, as a multiple of the measured one"


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    start = base().transform_filter("datum.bandwidth !== null")
    x = alt.X(
        "bandwidth:Q",
        title="bandwidth of every link, as a multiple of the measured one (log scale)",
        scale=alt.Scale(type="log", base=2),
    )
    y = alt.Y("speedup:Q", title=_TITLE, scale=alt.Scale(zero=True))
    colour = case_colour(rows, cases)
    tooltip = [
        alt.Tooltip("label:N", title="case and placement"),
        alt.Tooltip("bytes:N", title="messages"),
        alt.Tooltip("speedup:Q", title="speed", format=",.3~r"),
        alt.Tooltip("speedup_lo:Q", title="from", format=",.3~r"),
        alt.Tooltip("speedup_hi:Q", title="to", format=",.3~r"),
        alt.Tooltip("is_bound:N", title="at most"),
        alt.Tooltip("interval_over:N", title="interval over"),
    ]
    line = start.mark_line(strokeWidth=1.5).encode(x=x, y=y, detail="label:N", color=colour)
    ends = start.mark_rule().encode(
        x=x, y=alt.Y("speedup_lo:Q", title=_TITLE), y2="speedup_hi:Q", color=colour
    )
    points = start.mark_point(filled=True, size=50, opacity=1).encode(
        x=x,
        y=y,
        color=colour,
        shape=alt.Shape(
            "is_bound:N",
            legend=None,
            scale=alt.Scale(domain=[False, True], range=["circle", "triangle-down"]),
        ),
        tooltip=tooltip,
    )
    without = (
        base()
        .transform_filter("datum.bandwidth === null")
        .mark_rule(strokeDash=[6, 3])
        .encode(y=y, color=colour, tooltip=tooltip)
    )
    one = once().mark_rule(color=theme.MUTED, strokeDash=[3, 3]).encode(y=alt.datum(1))
    note = limit_note(rows, "case_name", "those that another network speeds up most")
    intervals = [ends] if rows.get_column("speedup_lo").is_not_null().any() else []
    return Drawing(views={"": layered(one, without, line, *intervals, points, height=220)}, note=note)


CHART = Chart(
    order=33,
    question="How fast would a step be on another network?",
    reading="Steps whose messages had a share or a multiple of the training's bytes, with their 95 % intervals: half "
    "the bytes take as long as all of them at twice the bandwidth. The broken line of a case is its speed without "
    "communication. A triangle is an upper bound.",
    draw=_draw,
    section="what_if",
)
