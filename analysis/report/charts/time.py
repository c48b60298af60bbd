"""Time of an epoch, and of a whole run, over workers."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing.chart import Cases, Chart, Drawing, layered, point_tooltip, sentences
from analysis.report.drawing.curves import (
    HEIGHT,
    Curve,
    bounded,
    curves,
    cut_note,
    extremes_note,
    magnitude_scale,
)

_VIEWS = {
    "an epoch": ("epoch_s", "time of an epoch (s)"),
    "a whole run": ("run_s", "wall time of a run (s)"),
}


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    views = {
        label: _view(rows.filter(pl.col(field).is_not_null()), cases, field, title)
        for label, (field, title) in _VIEWS.items()
        if rows.get_column(field).is_not_null().any()
    }
    field = next(name for name, _ in _VIEWS.values() if rows.get_column(name).is_not_null().any())
    known = rows.filter(pl.col(field).is_not_null())
    note = sentences(extremes_note(known, cases, field), cut_note(known, field))
    return Drawing(views=views, choice="time of", note=note)


def _view(rows: pl.DataFrame, cases: Cases, field: str, title: str) -> alt.LayerChart:
    scale = bounded(magnitude_scale(rows, field), rows, field)
    y = alt.Y(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(format=",~r"))
    tooltip = point_tooltip(
        alt.Tooltip(f"{field}:Q", title=f"{title.partition(' (')[0]}, s", format=",.4~r"),
        alt.Tooltip(f"{field}_lo:Q", title="from, s", format=",.4~r"),
        alt.Tooltip(f"{field}_hi:Q", title="to, s", format=",.4~r"),
    )
    curve = Curve(field=field, y=y, title=title, tooltip=tooltip)
    view: alt.LayerChart = layered(*curves(rows, cases, curve), height=HEIGHT)
    return view


CHART = Chart(
    order=35,
    question="How long does an epoch take?",
    reading="Examples of the data set ÷ throughput, with its 95 % interval. A whole run, from start to end: mean over "
    "ok repeats that are not slow, with the fastest and the slowest of them.",
    draw=_draw,
    section="training",
)
