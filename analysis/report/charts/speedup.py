"""Speedup over workers with the ideal line."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import (
    Cases,
    Chart,
    base,
    curves,
    layered,
    point_tooltip,
    result_axis,
    result_scale,
    workers_axis,
)

_TITLE = "speedup (×)"


def _draw(rows: pl.DataFrame, cases: Cases) -> alt.LayerChart:
    y = alt.Y("speedup:Q", title=_TITLE, scale=result_scale(rows), axis=result_axis(rows))
    tooltip = point_tooltip(
        alt.Tooltip("speedup:Q", title="speedup, ×", format=".3~f"),
        alt.Tooltip("speedup_lo:Q", title="from, ×", format=".3~f"),
        alt.Tooltip("speedup_hi:Q", title="to, ×", format=".3~f"),
    )
    ideal = base().mark_line(color=theme.MUTED, strokeDash=[5, 4], strokeWidth=1.5)
    ideal = ideal.encode(
        x=workers_axis(rows),
        y=alt.Y("workers:Q", title=_TITLE, scale=result_scale(rows), axis=result_axis(rows)),
    )
    return layered(ideal, *curves(rows, cases, "speedup", y=y, title=_TITLE, tooltip=tooltip)).properties(
        height=300
    )


CHART = Chart(
    order=10,
    question="How many times faster does it get?",
    reading="Dashed: ideal, n ranks n times as fast. Bands: 95 % intervals over repeats; none where there is "
    "one repeat.",
    draw=_draw,
)
