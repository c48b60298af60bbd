"""Throughput over workers."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, Drawing, layered, point_tooltip, sentences
from analysis.report.curves import HEIGHT, Curve, curves, extremes_note, magnitude_scale
from analysis.report.headroom import bounded, cut_note

_TITLE = "throughput (examples/s)"


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    axis = alt.Axis(format=",~f")
    y = alt.Y(
        "throughput:Q",
        title=_TITLE,
        scale=bounded(magnitude_scale(rows, "throughput"), rows, "throughput"),
        axis=axis,
    )
    tooltip = point_tooltip(
        alt.Tooltip("throughput:Q", title="throughput, examples/s", format=",.4~r"),
        alt.Tooltip("throughput_lo:Q", title="from, examples/s", format=",.4~r"),
        alt.Tooltip("throughput_hi:Q", title="to, examples/s", format=",.4~r"),
        *_tokens(rows),
    )
    curve = Curve(field="throughput", y=y, title=_TITLE, tooltip=tooltip)
    view = layered(*curves(rows, cases, curve), height=HEIGHT)
    return Drawing(
        views={"": view},
        note=sentences(extremes_note(rows, cases, "throughput"), cut_note(rows, "throughput")),
    )


def _tokens(rows: pl.DataFrame) -> list[alt.Tooltip]:
    if rows.get_column("tokens_per_s").null_count() == rows.height:
        return []
    return [alt.Tooltip("tokens_per_s:Q", title="tokens/s", format=",.4~r")]


CHART = Chart(
    order=30,
    question="How many examples per second?",
    reading="Geometric mean over repeats. Bars and bands: 95 % intervals over repeats; none where there is one "
    "repeat.",
    draw=_draw,
)
