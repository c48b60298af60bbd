"""Memory per rank over steps: allocated and reserved."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing.chart import (
    Cases,
    Chart,
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


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    axis = alt.Axis(format=",~f", tickCount=4)  # with ",", Vega writes 5e+2 for 500
    few = few_sizes(rows)
    lines = few.start.mark_line(strokeWidth=1.6).encode(
        x=alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickCount=4)),
        y=alt.Y("memory_mib:Q", title="memory of a rank (MiB)", scale=alt.Scale(zero=True), axis=axis),
        color=size_colour(few.rows),
        strokeDash=kind_dash(sorted(distinct(rows, "kind"))),
        tooltip=line_tooltip(
            alt.Tooltip("status:N", title="status"),
            alt.Tooltip("kind:N", title="kind"),
            alt.Tooltip("step:Q", title="from step"),
            alt.Tooltip("memory_mib:Q", title="memory, MiB", format=",.4~r"),
        ),
    )
    note = sentences(limit_note(rows, "case_name", "those that need most"), few.note)
    return Drawing(views={"": panels(lines, "case_name", rows, 150)}, note=note)


CHART = Chart(
    order=90,
    question="How much memory does a rank need, and does it grow?",
    reading="Largest over ranks. On CUDA, the allocator's peaks in the step: allocated solid, reserved dashed; on a "
    "CPU, the resident set if it was read. One repeat of each placement; maxima of up to 40 bins of neighbouring "
    "steps.",
    draw=_draw,
    wide=True,
    section="steps",
)
