"""Speedup over workers with the ideal line."""

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
    point_tooltip,
    sentences,
)
from analysis.report.drawing.curves import (
    HEIGHT,
    Curve,
    bounded,
    curves,
    cut_note,
    end_labels,
    extremes_note,
    result_axis,
    result_scale,
    workers_axis,
)

_TITLE = "speedup (×)"


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    most = max(distinct(rows, "workers"))
    scale = bounded(result_scale(rows), rows, "speedup", ideal=most)
    y = alt.Y("speedup:Q", title=_TITLE, scale=scale, axis=result_axis(rows))
    tooltip = point_tooltip(
        alt.Tooltip("speedup:Q", title="speedup, ×", format=".3~f"),
        alt.Tooltip("speedup_lo:Q", title="from, ×", format=".3~f"),
        alt.Tooltip("speedup_hi:Q", title="to, ×", format=".3~f"),
    )
    ideal = base().mark_line(color=theme.MUTED, strokeDash=[5, 4], strokeWidth=1.5)
    ideal = ideal.encode(
        x=workers_axis(rows),
        y=alt.Y("workers:Q", title=_TITLE, scale=scale, axis=result_axis(rows)),
    )
    curve = Curve(field="speedup", y=y, title=_TITLE, tooltip=tooltip)
    labels = end_labels(rows)
    view = layered(ideal, *curves(rows, cases, curve), *labels, height=HEIGHT)
    return Drawing(
        views={"": view},
        is_labelled=bool(labels),
        note=sentences(extremes_note(rows, cases, "speedup"), cut_note(rows, "speedup", most)),
    )


CHART = Chart(
    order=10,
    question="How many times faster does it get?",
    reading="Dashed: ideal, n ranks n times as fast. Bars and bands: 95 % intervals over repeats; none if repeats are "
    "too few.",
    draw=_draw,
    shows_finding=True,
)
