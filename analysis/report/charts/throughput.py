"""Throughput over workers."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, curves, layered, point_tooltip, result_scale

_TITLE = "throughput (examples/s)"


def _draw(rows: pl.DataFrame, cases: Cases) -> alt.LayerChart:
    axis = alt.Axis(format=",~f")
    y = alt.Y("throughput:Q", title=_TITLE, scale=result_scale(rows), axis=axis)
    tooltip = point_tooltip(
        alt.Tooltip("throughput:Q", title="throughput, examples/s", format=",.4~r"),
        alt.Tooltip("throughput_lo:Q", title="from, examples/s", format=",.4~r"),
        alt.Tooltip("throughput_hi:Q", title="to, examples/s", format=",.4~r"),
        *_tokens(rows),
    )
    return layered(*curves(rows, cases, "throughput", y=y, title=_TITLE, tooltip=tooltip)).properties(
        height=300
    )


def _tokens(rows: pl.DataFrame) -> list[alt.Tooltip]:
    if rows.get_column("tokens_per_s").null_count() == rows.height:
        return []
    return [alt.Tooltip("tokens_per_s:Q", title="tokens/s", format=",.4~r")]


CHART = Chart(
    order=30,
    question="How many examples per second?",
    reading="Geometric mean over repeats. Bands: 95 % intervals over repeats; none where there is one repeat.",
    draw=_draw,
)
