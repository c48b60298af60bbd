"""Training loss over steps, and validation."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, base, layered, panels, size_colour, size_width


def _draw(rows: pl.DataFrame, _cases: Cases) -> alt.FacetChart:
    start = base().encode(
        x=alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickCount=4)),
        y=alt.Y(
            "loss:Q", title="loss", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4, labelFlush=True)
        ),
        color=size_colour(rows),
        tooltip=[
            alt.Tooltip("case_name:N", title="case"),
            alt.Tooltip("placement:N", title="placement"),
            alt.Tooltip("repeat:Q", title="repeat"),
            alt.Tooltip("kind:N", title="kind"),
            alt.Tooltip("step:Q", title="step"),
            alt.Tooltip("loss:Q", title="loss", format=".5~r"),
        ],
    )
    training = start.transform_filter("datum.kind === 'training'").mark_line().encode(size=size_width(rows))
    validation = start.transform_filter("datum.kind === 'validation'").mark_point(
        filled=True, size=60, shape="diamond"
    )
    return panels(layered(training, validation), "case_name", rows, 150)


CHART = Chart(
    order=80,
    question="Does it learn the same at every size?",
    reading="Loss, no unit: mean over ranks, first ok repeat of each placement, warm-up included; diamonds: "
    "validation. Smaller sizes have thicker lines, so that lines that coincide show. Strong scaling must "
    "not change the curve; under weak scaling the global batch grows. Beyond 150 steps: means of 100 bins.",
    draw=_draw,
    wide=True,
)
