"""Speedup that fitted laws, and communication, predict beyond the largest measured size."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import (
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
from analysis.report.curves import EXTREMES, HEIGHT, extremes, result_axis, result_scale, workers_axis
from analysis.report.headroom import bounded, cut_note

_TITLE = "speedup (×)"
_SERIAL = {"amdahl": "Amdahl", "gustafson": "Gustafson"}
_COMMUNICATION = "communication"
_LIGHT = 0.65
"""Opacity of what is predicted."""


def _draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
    named = extremes(rows, cases, "speedup")
    shown = rows.filter(pl.col("case_name").is_in(named)) if named else rows
    views = {label: _view(part, shown, cases) for label, part in _by_law(shown).items()}
    return Drawing(
        views=views,
        choice="predicted by",
        note=sentences(_alone_note(views), _limit_note(rows, named), cut_note(shown, "speedup")),
    )


def _alone_note(views: dict[str, alt.LayerChart]) -> str:
    """A single picture has no choice beside it that would name it."""
    alone = list(views) == [_COMMUNICATION]
    return "Predicted from communication: no case has sizes enough for a law." if alone else ""


def _limit_note(rows: pl.DataFrame, named: list[str]) -> str:
    count = len(distinct(rows, "case_name"))
    if len(named) in (0, count):
        return ""
    return f"Drawn: the {EXTREMES} highest and the {EXTREMES} lowest of {count:,} cases; the data have all."


def _by_law(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The universal law first; of a session with both modes Amdahl's and Gustafson's stand in one picture.
    Communication, which is no fit to these points, last."""
    serial = [law for law in _SERIAL if law in distinct(rows, "law")]
    parts = {
        "USL": rows.filter(pl.col("law") == "usl"),
        " or ".join(_SERIAL[law] for law in serial): rows.filter(pl.col("law").is_in(serial)),
        _COMMUNICATION: rows.filter(pl.col("law") == "communication"),
    }
    return {label: part for label, part in parts.items() if not part.is_empty()}


def _view(rows: pl.DataFrame, of_all_laws: pl.DataFrame, cases: Cases) -> alt.LayerChart:
    """Both pictures have the axes of all laws."""
    x = workers_axis(of_all_laws)
    scale, axis = bounded(result_scale(of_all_laws), of_all_laws, "speedup"), result_axis(of_all_laws)
    y = alt.Y("speedup:Q", title=_TITLE, scale=scale, axis=axis)
    only = alt.FieldOneOfPredicate(field="law", oneOf=distinct(rows, "law"))
    drawn = alt.FieldOneOfPredicate(field="case_name", oneOf=distinct(rows, "case_name"))
    start = base().transform_filter(only).transform_filter(drawn).encode(x=x)
    ideal = start.mark_line(color=theme.MUTED, strokeWidth=1, clip=True)
    ideal = ideal.encode(y=alt.Y("workers:Q", title=_TITLE, scale=scale, axis=axis))
    coloured = start.encode(color=case_colour(rows, cases))
    predicted = coloured.transform_filter("datum.kind === 'predicted'")
    band = predicted.mark_area(opacity=0.12, clip=True)
    line = coloured.mark_line(opacity=_LIGHT, strokeDash=[4, 4], strokeWidth=1.5, clip=True)
    hollow = predicted.mark_point(filled=False, opacity=_LIGHT, size=70, clip=True)
    measured = coloured.transform_filter("datum.kind === 'measured'")
    marks = measured.mark_point(filled=True, opacity=1, size=80)
    low = alt.Y("speedup_lo:Q", title=_TITLE, scale=scale, axis=axis)
    layers = [
        (ideal, True),
        (band.encode(y=low, y2=alt.Y2("speedup_hi:Q")), _has_band(rows)),
        (line.encode(y=y), True),
        (hollow.encode(y=y, shape=case_shape(rows, cases), tooltip=_PREDICTED), _is_predicted(rows).any()),
        (
            marks.encode(
                y=alt.Y("measured_speedup:Q", title=_TITLE, scale=scale, axis=axis),
                shape=case_shape(rows, cases),
                tooltip=_MEASURED,
            ),
            True,
        ),
    ]
    view: alt.LayerChart = layered(*(layer for layer, is_shown in layers if is_shown), height=HEIGHT)
    return view


def _is_predicted(rows: pl.DataFrame) -> pl.Series:
    return rows.get_column("kind") == "predicted"


def _has_band(rows: pl.DataFrame) -> bool:
    """A layer without rows of its own would give its scale no extent."""
    return rows.filter(_is_predicted(rows)).get_column("speedup_lo").is_not_null().any()


_PREDICTED = [
    alt.Tooltip("case_name:N", title="case"),
    alt.Tooltip("workers:Q", title="workers", format="d"),
    alt.Tooltip("law:N", title="predicted by"),
    alt.Tooltip("speedup:Q", title="predicted speedup, ×", format=".3~f"),
    alt.Tooltip("speedup_lo:Q", title="from, ×", format=".3~f"),
    alt.Tooltip("speedup_hi:Q", title="to, ×", format=".3~f"),
]
_MEASURED = [
    alt.Tooltip("case_name:N", title="case"),
    alt.Tooltip("workers:Q", title="workers", format="d"),
    alt.Tooltip("measured_speedup:Q", title="measured speedup, ×", format=".3~f"),
    alt.Tooltip("law:N", title="law"),
    alt.Tooltip("relative_error:Q", title="error of it", format="+.1%"),
]

CHART = Chart(
    order=32,
    question="What do the laws predict?",
    reading="Filled: measured. Hollow, dashed and pale: predicted by a law that was fitted to what was measured; "
    "nothing there was run. Grey: ideal. Bands: 95 % intervals of the law's curve, where it has any; of communication, "
    "which was not fitted to these points, from nothing that overlaps to all. What begins only at larger sizes none "
    "of them knows.",
    draw=_draw,
    wide=True,
    section="further",
)
