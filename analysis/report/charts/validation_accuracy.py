"""Validation accuracy of all configurations over each other."""

from __future__ import annotations

import polars as pl

from analysis.report.chart import Cases, Chart, Drawing
from analysis.report.learning import Quantity, overlay

_QUANTITY = Quantity(field="val_accuracy", title="validation accuracy (%)", form=".2%", has_points=True)


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    return overlay(rows, cases, _QUANTITY)


CHART = Chart(
    order=74,
    question="How fast does the validation accuracy rise?",
    reading="A point per validation, first ok repeat of each placement. Wall time: to the end of the last step before "
    "it.",
    draw=_draw,
)
