"""Throughput over ranks, next to published curves of the same GPU, model, precision and batch."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing.chart import Cases, Chart, Drawing
from analysis.report.drawing.curves import bounded, magnitude_scale
from analysis.report.drawing.published import published_drawing


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    unit = rows.get_column("throughput_unit")[0]  # published curves of another unit are left out
    y = alt.Y(
        "throughput:Q",
        title=f"throughput ({unit})",
        scale=bounded(magnitude_scale(rows, "throughput"), rows, "throughput"),
        axis=alt.Axis(format=",~f"),
    )
    return published_drawing(rows, cases, y, "throughput", f", {unit}")


CHART = Chart(
    order=31,
    section="published",
    question="How does throughput compare with published curves?",
    reading="Grey: published curves whose GPU, model, precision and batch are those of a case of this session. "
    "Network, data, versions and sequence length may differ.",
    draw=_draw,
)
