"""Readings of sensors over a run: a panel per case, a line per placement and kind of device."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import (
    Drawing,
    distinct,
    few_sizes,
    kind_dash,
    limit_note,
    line_tooltip,
    panels,
    sentences,
    size_colour,
)

HEIGHT = 120
"""Of a panel, in CSS pixels."""


def over_time(rows: pl.DataFrame, y: alt.Y, reading: alt.Tooltip, which: str) -> Drawing:
    """`y` and `reading` say the quantity, `which` the cases that are kept where there are many."""
    few = few_sizes(rows)
    lines = few.start.mark_line(strokeWidth=1.5, point={"size": 12}).encode(
        x=alt.X("time_s:Q", title="time since the barrier (s)", axis=alt.Axis(tickCount=4)),
        y=y,
        color=size_colour(few.rows),
        tooltip=line_tooltip(
            alt.Tooltip("kind:N", title="device"),
            alt.Tooltip("time_s:Q", title="time, s", format=".2f"),
            reading,
        ),
    )
    kinds = sorted(distinct(rows, "kind"))  # GPU before host
    if len(kinds) > 1:
        lines = lines.encode(strokeDash=kind_dash(kinds))
    note = sentences(limit_note(rows, "case_name", which), few.note)
    return Drawing(views={"": panels(lines, "case_name", rows, HEIGHT)}, note=note)
