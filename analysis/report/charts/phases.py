"""The four phases of a step, stacked."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.bars import Parts, stacked
from analysis.report.drawing.chart import Cases, Chart, Drawing


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    known = rows.select("phase", "phase_order").unique().sort("phase_order")  # a command may lack a phase
    parts = Parts(
        part="phase",
        names=known.get_column("phase").to_list(),
        colours=[theme.PHASES[order - 1] for order in known.get_column("phase_order")],
        value="phase_ms",
        title="mean time of a step (ms)",
        tooltip=[
            alt.Tooltip("phase_ms:Q", title="time, ms", format=",.4~r"),
            alt.Tooltip("share:Q", title="share of the step", format=".1%"),
        ],
        kept="longest steps",
    )
    return stacked(rows, parts)


CHART = Chart(
    order=50,
    question="Where does a step spend its time?",
    reading="Mean over ranks, measured steps and ok repeats. Backward includes the communication that overlaps "
    "it, and waiting for other ranks.",
    draw=_draw,
)
