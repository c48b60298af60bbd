"""A profiled step of each case and placement: compute, overlapped and exposed communication."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.bars import Parts, stacked
from analysis.report.drawing.chart import Cases, Chart, Drawing, distinct


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    parts = Parts(
        part="part",
        names=distinct(rows.sort("part_order"), "part"),
        colours=theme.PROFILE,
        value="part_ms",
        title="mean time of a profiled step (ms)",
        tooltip=[
            alt.Tooltip("part_ms:Q", title="time, ms", format=",.4~r"),
            alt.Tooltip("share:Q", title="share of the step", format=".1%"),
            alt.Tooltip("overlap:Q", title="communication overlapped by compute", format=".1%"),
            alt.Tooltip("message_mib:Q", title="sent per rank and step, MiB", format=",.4~r"),
        ],
        kept="longest steps",
    )
    return stacked(rows, parts)


CHART = Chart(
    order=52,
    question="How long do ranks communicate, and how long do they wait for it?",
    reading="Mean over ranks, profiled steps and ok repeats; the profiler makes short steps longer than measured ones. "
    "Exposed: communication, including waiting for slower ranks, during which the rank computed nothing. Other: "
    "neither, such as Python, launching and copies. On CPUs the ranks use gloo, whose figures do not apply to NCCL.",
    draw=_draw,
    section="steps",
)
