"""A profiled step of each case and placement: compute, communication behind it, communication that is waited for."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.bars import Parts, stacked
from analysis.report.chart import Cases, Chart, Drawing, distinct


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    parts = Parts(
        part="part",
        names=distinct(rows.sort("part_order"), "part"),
        colours=theme.PART_COLOURS,
        value="part_ms",
        title="mean time of a profiled step (ms)",
        tooltip=[
            alt.Tooltip("part_ms:Q", title="time, ms", format=",.4~r"),
            alt.Tooltip("share:Q", title="share of the step", format=".1%"),
            alt.Tooltip("overlap:Q", title="communication behind compute", format=".1%"),
            alt.Tooltip("message_mb:Q", title="sent per rank and step, MB", format=",.4~r"),
        ],
        kept="longest steps",
    )
    return stacked(rows, parts)


CHART = Chart(
    order=52,
    question="How long do ranks talk, and how much of it do they wait for?",
    reading="Mean over ranks, profiled steps and ok repeats; the profiler makes short steps longer than the measured "
    "ones. Exposed is communication, waiting for slower ranks included, beside which the rank computed nothing; other "
    "is neither: Python, launching, copies. On CPUs the ranks talk through gloo, whose figures say nothing about NCCL.",
    draw=_draw,
)
