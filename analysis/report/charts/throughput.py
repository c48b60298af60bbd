"""Throughput over workers."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing.chart import Cases, Chart, Drawing, layered, point_tooltip, sentences
from analysis.report.drawing.curves import (
    HEIGHT,
    Curve,
    bounded,
    curves,
    cut_note,
    extremes_note,
    magnitude_scale,
)


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    unit = rows.get_column("throughput_unit")[0]  # a session has one
    title = f"throughput ({unit})"
    axis = alt.Axis(format=",~f" if unit == "examples/s" else ",~r")
    y = alt.Y(
        "throughput:Q",
        title=title,
        scale=bounded(magnitude_scale(rows, "throughput"), rows, "throughput"),
        axis=axis,
    )
    tooltip = point_tooltip(
        alt.Tooltip("throughput:Q", title=f"throughput, {unit}", format=",.4~r"),
        alt.Tooltip("throughput_lo:Q", title=f"from, {unit}", format=",.4~r"),
        alt.Tooltip("throughput_hi:Q", title=f"to, {unit}", format=",.4~r"),
        *_tokens(rows),
    )
    curve = Curve(field="throughput", y=y, title=title, tooltip=tooltip)
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
    question="How much is trained per second?",
    reading="Throughput: the mean of up to five repeats, the median of more. Bars and bands: 95 % intervals over "
    "repeats; none below three repeats.",
    draw=_draw,
    shows_finding=True,
)
