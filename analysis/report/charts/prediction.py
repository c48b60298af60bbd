"""The speedup that laws and communication predict beyond the largest measured size."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import (
    Cases,
    Chart,
    Drawing,
    base,
    case_colour,
    case_shape,
    distinct,
    layered,
    sentences,
)
from analysis.report.drawing.curves import (
    EXTREMES,
    HEIGHT,
    bounded,
    cut_note,
    extremes,
    result_axis,
    result_scale,
    workers_axis,
)

_COMMUNICATION = "communication"
_LIGHT = 0.65
"""Opacity of predictions."""


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    """Two views: the laws of the cases; and communication, which is not fitted to these points."""
    named = extremes(rows, cases, "speedup")
    shown = rows.filter(pl.col("case_name").is_in(named)) if named else rows
    laws = {"law": "fitted", _COMMUNICATION: _COMMUNICATION}
    parts = {label: shown.filter(pl.col("law") == of_view) for label, of_view in laws.items()}
    views = {label: _view(part, shown, cases) for label, part in parts.items() if not part.is_empty()}
    notes = []
    if list(views) == [_COMMUNICATION]:  # a single view has no label
        notes.append("Predicted from communication: no case has enough sizes for a law.")
    count = len(distinct(rows, "case_name"))
    if len(named) not in (0, count):
        ends = f"the {EXTREMES} highest and the {EXTREMES} lowest"
        notes.append(f"Drawn: {ends} of {count:,} cases; the data have all.")
    return Drawing(views=views, choice="predicted by", note=sentences(*notes, cut_note(shown, "speedup")))


def _view(rows: pl.DataFrame, of_all_laws: pl.DataFrame, cases: Cases) -> alt.LayerChart:
    """One view; all views have the same axes."""
    scale, axis = bounded(result_scale(of_all_laws), of_all_laws, "speedup"), result_axis(of_all_laws)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title="speedup (×)", scale=scale, axis=axis)

    only = alt.FieldOneOfPredicate(field="law", oneOf=distinct(rows, "law"))
    drawn = alt.FieldOneOfPredicate(field="case_name", oneOf=distinct(rows, "case_name"))
    start = base().transform_filter(only).transform_filter(drawn).encode(x=workers_axis(of_all_laws))
    ideal = start.mark_line(color=theme.MUTED, strokeWidth=1, clip=True).encode(y=y("workers"))
    coloured = start.encode(color=case_colour(rows, cases))
    predicted = coloured.transform_filter("datum.kind === 'predicted'")
    # A law of one node and a law across nodes are not joined at the border.
    line = coloured.encode(detail="segment:N").mark_line(
        opacity=_LIGHT, strokeDash=[4, 4], strokeWidth=1.5, clip=True
    )
    layers = [ideal, line.encode(y=y("speedup"))]
    is_predicted = rows.get_column("kind") == "predicted"
    # A layer without rows would leave its scale without an extent.
    if rows.filter(is_predicted).get_column("speedup_lo").is_not_null().any():
        band = predicted.mark_area(opacity=0.12, clip=True)
        layers.insert(1, band.encode(y=y("speedup_lo"), y2=alt.Y2("speedup_hi:Q")))
    shape = case_shape(rows, cases)
    if is_predicted.any():
        hollow = predicted.mark_point(filled=False, opacity=_LIGHT, size=70, clip=True)
        layers.append(hollow.encode(y=y("speedup"), shape=shape, tooltip=_PREDICTED))
    measured = coloured.transform_filter("datum.kind === 'measured'").mark_point(
        filled=True, opacity=1, size=80
    )
    layers.append(measured.encode(y=y("measured_speedup"), shape=shape, tooltip=_MEASURED))
    return layered(*layers, height=HEIGHT)


_PREDICTED = [
    alt.Tooltip("case_name:N", title="case"),
    alt.Tooltip("workers:Q", title="workers", format="d"),
    alt.Tooltip("law:N", title="predicted by"),
    alt.Tooltip("speedup:Q", title="predicted speedup, ×", format=".3~f"),
    alt.Tooltip("speedup_lo:Q", title="from, ×", format=".3~f"),
    alt.Tooltip("speedup_hi:Q", title="to, ×", format=".3~f"),
    alt.Tooltip("left_out_error:Q", title="error at the largest size, left out", format="+.1%"),
]
_MEASURED = [
    alt.Tooltip("case_name:N", title="case"),
    alt.Tooltip("workers:Q", title="workers", format="d"),
    alt.Tooltip("measured_speedup:Q", title="measured speedup, ×", format=".3~f"),
    alt.Tooltip("law:N", title="law"),
    alt.Tooltip("relative_error:Q", title="error of the law", format="+.1%"),
]

CHART = Chart(
    order=32,
    question="What do the laws predict?",
    reading="Filled: measured. Hollow, dashed and pale: predicted; these sizes did not run. Grey: ideal. Bands: 95 % "
    "intervals of the law's prediction; for communication, which was not fitted to these points, the bounds from no to "
    "full overlap. Predictions hold if nothing new begins beyond the measured sizes.",
    draw=_draw,
    wide=True,
    section="further",
)
