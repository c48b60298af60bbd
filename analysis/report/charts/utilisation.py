"""Utilisation of processors and GPUs over a run."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, base, distinct, panels, size_colour


def _draw(rows: pl.DataFrame, _cases: Cases) -> alt.FacetChart:
    drawing = (
        base()
        .mark_line(strokeWidth=1.5, point={"size": 12})
        .encode(
            x=alt.X("time_s:Q", title="time since the barrier (s)", axis=alt.Axis(tickCount=4)),
            y=alt.Y(
                "utilisation:Q",
                title="utilisation (%)",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%", tickCount=3, labelFlush=True),
            ),
            color=size_colour(rows),
            tooltip=[
                alt.Tooltip("case_name:N", title="case"),
                alt.Tooltip("placement:N", title="placement"),
                alt.Tooltip("kind:N", title="device"),
                alt.Tooltip("time_s:Q", title="time, s", format=".2f"),
                alt.Tooltip("utilisation:Q", title="utilisation", format=".1%"),
            ],
        )
    )
    if "GPU" in distinct(rows, "kind"):
        dashes = alt.Scale(domain=["GPU", "host"], range=[[1, 0], [4, 3]])
        drawing = drawing.encode(strokeDash=alt.StrokeDash("kind:N", scale=dashes, title=None))
    return panels(drawing, "case_name", rows, 120)


CHART = Chart(
    order=100,
    question="How busy is the machine?",
    reading="First ok repeat of each placement, means over all nodes and devices, up to 40 bins of time. "
    "Hosts: the busy share of all processors, other programs included; dashed beside GPUs. GPUs: the share "
    "of time in which any kernel ran, which is not how well they were used.",
    draw=_draw,
    wide=True,
)
