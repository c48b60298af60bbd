"""Training loss of all configurations over each other."""

from __future__ import annotations

import polars as pl

from analysis.report.chart import Cases, Chart, Drawing
from analysis.report.learning import Quantity, overlay

_QUANTITY = Quantity(field="loss", title="training loss", form=".5~r", has_points=False)


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    return overlay(rows, cases, _QUANTITY)


CHART = Chart(
    order=72,
    question="How fast does the training loss fall?",
    reading="Mean over ranks, no unit; first ok repeat of each placement, warm-up included, since it trains too. "
    "Earlier cases have thicker lines, so that lines that coincide show. Beyond 150 steps: means of 100 bins. "
    "Wall time: from the ranks' common barrier to the end of the step, validation included.",
    draw=_draw,
    wide=True,
)
