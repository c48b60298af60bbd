"""Memory per rank over steps."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Cases, Chart, base, panels, size_colour

_BYTES = "replace(format(datum.value, '.3~s'), regexp('([kMGT]?)$'), ' $1') + 'B'"


def _draw(rows: pl.DataFrame, _cases: Cases) -> alt.FacetChart:
    axis = alt.Axis(labelExpr=_BYTES, tickCount=4, labelFlush=True)
    start = base().encode(
        x=alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickCount=4)),
        y=alt.Y(
            "memory_allocated_bytes:Q", title="memory per rank (bytes)", scale=alt.Scale(zero=True), axis=axis
        ),
        color=size_colour(rows),
        tooltip=[
            alt.Tooltip("case_name:N", title="case"),
            alt.Tooltip("placement:N", title="placement"),
            alt.Tooltip("status:N", title="status"),
            alt.Tooltip("step:Q", title="from step"),
            alt.Tooltip("memory_allocated_bytes:Q", title="allocated, bytes", format=".4~s"),
            alt.Tooltip("memory_reserved_bytes:Q", title="reserved, bytes", format=".4~s"),
        ],
    )
    return panels(start.mark_line(strokeWidth=1.6, point={"size": 14}), "case_name", rows, 150)


CHART = Chart(
    order=90,
    question="How much memory does a rank need, and does it grow?",
    reading="Largest over ranks; on CUDA the allocator's peak in the step, on a CPU the resident set where it "
    "was read. One repeat of each placement; maxima of up to 60 bins of neighbouring steps.",
    draw=_draw,
    wide=True,
)
