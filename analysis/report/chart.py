"""What a chart is, and what several charts share: a series per case, points with intervals, panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from analysis.report import theme

ROWS = "rows"
"""Name under which a specification finds its data; the page puts them there once."""
PANEL_WIDTH = 240
"""Narrowest panel of a chart that has several, in CSS pixels."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart: a question, how to read the answer, and the drawing."""

    order: int
    """Place on the page."""
    question: str
    """The title."""
    reading: str
    """How to read it, what was binned or left out; plain text."""
    draw: Callable[[pl.DataFrame], alt.TopLevelMixin]
    """From the query's rows, which are not empty; the data are named, not embedded."""
    wide: bool = False
    """Takes the page's whole width."""


def base() -> alt.Chart:
    return alt.Chart(alt.NamedData(ROWS))


def layered(*layers: alt.Chart) -> alt.LayerChart:
    return alt.LayerChart(layer=list(layers))


def specification(chart: Chart, rows: pl.DataFrame) -> dict[str, Any]:
    """Vega-Lite, without data and without settings: those stand once per page."""
    spec: dict[str, Any] = chart.draw(rows).to_dict(validate=False)
    return {key: value for key, value in spec.items() if key not in ("$schema", "config", "usermeta")}


def distinct(rows: pl.DataFrame, column: str) -> list[Any]:
    """In order of appearance."""
    return rows.get_column(column).unique(maintain_order=True).to_list()


def _case_scale(rows: pl.DataFrame) -> alt.Scale:
    cases = distinct(rows, "case_name")
    return alt.Scale(domain=cases, range=theme.categories(len(cases)))


def case_colour(rows: pl.DataFrame) -> alt.Color:
    return alt.Color("case_name:N", scale=_case_scale(rows), title=None)


def case_shape(rows: pl.DataFrame) -> alt.Shape:
    cases = distinct(rows, "case_name")
    return alt.Shape("case_name:N", scale=alt.Scale(domain=cases, range=theme.shapes(len(cases))), title=None)


def size_colour(rows: pl.DataFrame) -> alt.Color:
    """Placements from the smallest to the largest."""
    placements = distinct(rows.sort("workers", "placement"), "placement")
    scale = alt.Scale(domain=placements, range=theme.ramp(len(placements)))
    return alt.Color("placement:N", scale=scale, title="nodes × ranks")


def workers_axis(rows: pl.DataFrame) -> alt.X:
    """Linear up to 16 workers; beyond, where small sizes would crowd together, logarithmic to base 2."""
    sizes = sorted(distinct(rows, "workers"))
    title = {"ranks": "ranks", "threads": "threads per rank"}
    axes = distinct(rows, "axis")
    scale = alt.Scale(type="log", base=2, nice=False) if sizes[-1] > 16 else alt.Scale(nice=False, zero=False)
    axis = alt.Axis(values=sizes, format="d", title=" or ".join(title[axis] for axis in axes), grid=True)
    return alt.X("workers:Q", scale=scale, axis=axis)


def result_scale(rows: pl.DataFrame) -> alt.Scale:
    """Of what should grow with the workers: follows workers_axis, so that ideal scaling stays a straight line."""
    return alt.Scale(type="log", base=2) if max(distinct(rows, "workers")) > 16 else alt.Scale(zero=True)


def curves(
    rows: pl.DataFrame, value: str, y: alt.Y, title: str, tooltip: Sequence[alt.Tooltip]
) -> list[alt.Chart]:
    """Band of the 95 % interval, line and points of each case. Oversubscribed points are hollow; those on several
    nodes have a ring."""
    start = base().encode(x=workers_axis(rows), color=case_colour(rows))
    band = start.mark_area(opacity=0.18).encode(
        y=alt.Y(f"{value}_lo:Q", title=title), y2=alt.Y2(f"{value}_hi:Q")
    )
    fill = alt.Fill("case_name:N", scale=_case_scale(rows), legend=None)
    points = start.mark_point(size=70, filled=False).encode(
        y=y,
        shape=case_shape(rows),
        fill=alt.condition("datum.oversubscribed", alt.value(theme.PAPER), fill),
        tooltip=list(tooltip),
    )
    return [band, start.mark_line().encode(y=y), *_rings(rows, y), points]


def _rings(rows: pl.DataFrame, y: alt.Y) -> list[alt.Chart]:
    if "across_nodes" not in distinct(rows, "locality"):
        return []
    across = base().transform_filter("datum.locality === 'across_nodes'")
    ring = across.mark_point(size=220, filled=False, color=theme.MUTED, strokeWidth=1.5)
    return [ring.encode(x=workers_axis(rows), y=y)]


def point_tooltip(*values: alt.Tooltip) -> list[alt.Tooltip]:
    """What every point of the scaling charts says first."""
    return [
        alt.Tooltip("case_name:N", title="case"),
        alt.Tooltip("placement:N", title="nodes × ranks"),
        alt.Tooltip("repeats:Q", title="repeats"),
        *values,
        alt.Tooltip("oversubscribed:N", title="oversubscribed"),
    ]


def panels(
    drawing: alt.Chart | alt.LayerChart, column: str, rows: pl.DataFrame, height: int
) -> alt.FacetChart:
    """One small chart per value of a column; the page sets how many stand beside each other."""
    header = alt.Header(title=None, labelAnchor="start")
    facet = alt.Facet(f"{column}:N", header=header, sort=distinct(rows, column))
    return drawing.properties(width=PANEL_WIDTH, height=height).facet(facet, columns=1)
