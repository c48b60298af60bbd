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


Cases = Sequence[str]
"""All cases of the session in the order of the suite: their colours and shapes are the same in every chart."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart: a question, how to read the answer, and the drawing."""

    order: int
    """Place on the page."""
    question: str
    """The title."""
    reading: str
    """How to read it, what was binned or left out; plain text."""
    draw: Callable[[pl.DataFrame, Cases], alt.TopLevelMixin]
    """From the query's rows, which are not empty, and all cases of the session; data are named, not embedded."""
    wide: bool = False
    """Takes the page's whole width."""


_SIZE = "placement"


def base() -> alt.Chart:
    return alt.Chart(alt.NamedData(ROWS))


def once() -> alt.Chart:
    """For a mark that stands once, whatever the data."""
    return alt.Chart(alt.InlineData(values=[{}]))


def layered(*layers: alt.Chart) -> alt.LayerChart:
    return alt.LayerChart(layer=list(layers))


def specification(chart: Chart, rows: pl.DataFrame, cases: Cases) -> dict[str, Any]:
    """Vega-Lite, without data and without settings: those stand once per page."""
    spec: dict[str, Any] = chart.draw(rows, cases).to_dict(validate=False)
    return {key: value for key, value in spec.items() if key not in ("$schema", "config", "usermeta")}


def distinct(rows: pl.DataFrame, column: str) -> list[Any]:
    """In order of appearance."""
    return rows.get_column(column).unique(maintain_order=True).to_list()


def case_colour(rows: pl.DataFrame, cases: Cases) -> alt.Color:
    """The same colour in every chart of a page, whichever cases a chart has."""
    scale = alt.Scale(domain=list(cases), range=theme.categories(len(cases)))
    return alt.Color("case_name:N", scale=scale, title=None, legend=_present(rows))


def case_shape(rows: pl.DataFrame, cases: Cases) -> alt.Shape:
    scale = alt.Scale(domain=list(cases), range=theme.shapes(len(cases)))
    return alt.Shape("case_name:N", scale=scale, title=None, legend=_present(rows))


def _present(rows: pl.DataFrame) -> alt.Legend:
    return alt.Legend(values=distinct(rows, "case_name"))


def size_colour(rows: pl.DataFrame) -> alt.Color:
    """Placements from the smallest to the largest."""
    placements = distinct(rows.sort("workers", "placement"), "placement")
    scale = alt.Scale(domain=placements, range=theme.ramp(len(placements)))
    return alt.Color("placement:O", scale=scale, title=_SIZE)


def size_width(rows: pl.DataFrame) -> alt.Size:
    """Of lines: small sizes thick, large ones thin on top of them, so that lines that coincide can still be counted."""
    sizes = sorted(distinct(rows, "workers"))
    widths = [min(1.4 + 1.8 * (len(sizes) - 1 - place), 10) for place in range(len(sizes))]
    scale = alt.Scale(type="ordinal", domain=sizes, range=widths)
    return alt.Size("workers:O", scale=scale, legend=None)  # Vega-Lite takes a line's width from its size


def workers_axis(rows: pl.DataFrame) -> alt.X:
    """Linear up to 16 workers; beyond, where small sizes would crowd together, logarithmic to base 2."""
    sizes = sorted(distinct(rows, "workers"))
    title = {"ranks": "ranks", "threads": "threads per rank"}
    axes = distinct(rows, "axis")
    kind: dict[str, Any] = {"type": "log", "base": 2} if sizes[-1] > 16 else {"zero": False}
    scale = alt.Scale(nice=False, padding=14, **kind)
    axis = alt.Axis(values=sizes, format="d", grid=True)
    return alt.X("workers:Q", scale=scale, axis=axis, title=" or ".join(title[axis] for axis in axes))


def result_scale(rows: pl.DataFrame) -> alt.Scale:
    """Of what should grow with the workers: follows workers_axis, so that ideal scaling stays a straight line."""
    return alt.Scale(type="log", base=2) if max(distinct(rows, "workers")) > 16 else alt.Scale(zero=True)


def result_axis(rows: pl.DataFrame) -> alt.Axis:
    """On a logarithmic scale the powers of two: Vega's own choice are odd multiples."""
    largest = max(distinct(rows, "workers"))
    return alt.Axis(values=[2**power for power in range(16)]) if largest > 16 else alt.Axis()


def curves(
    rows: pl.DataFrame, cases: Cases, value: str, *, y: alt.Y, title: str, tooltip: Sequence[alt.Tooltip]
) -> list[alt.Chart]:
    """Band of the 95 % interval, line and points of each case. Oversubscribed points are hollow; those on several
    nodes have a ring."""
    start = base().encode(x=workers_axis(rows), color=case_colour(rows, cases))
    band = start.mark_area(opacity=0.18).encode(
        y=alt.Y(f"{value}_lo:Q", title=title), y2=alt.Y2(f"{value}_hi:Q")
    )
    points = start.mark_point(size=80, filled=True, opacity=1).encode(
        y=y, shape=case_shape(rows, cases), tooltip=list(tooltip)
    )
    hollow = _marked(rows, y, "datum.oversubscribed", size=24, filled=True, color=theme.PAPER)
    ring = _marked(rows, y, "datum.locality === 'across_nodes'", size=220, filled=False, color=theme.MUTED)
    # A layer without rows of its own would give its scale no extent.
    layers = [
        (band, rows.get_column(f"{value}_lo").is_not_null().any()),
        (start.mark_line().encode(y=y), True),
        (points, True),
        (hollow, rows.get_column("oversubscribed").any()),
        (ring, "across_nodes" in distinct(rows, "locality")),
    ]
    return [layer for layer, is_shown in layers if is_shown]


def _marked(rows: pl.DataFrame, y: alt.Y, which: str, **mark: Any) -> alt.Chart:
    layer: alt.Chart = (
        base().transform_filter(which).mark_point(opacity=1, **mark).encode(x=workers_axis(rows), y=y)
    )
    return layer


def point_tooltip(*values: alt.Tooltip) -> list[alt.Tooltip]:
    """What every point of the scaling charts says first."""
    return [
        alt.Tooltip("case_name:N", title="case"),
        alt.Tooltip("placement:N", title=_SIZE),
        alt.Tooltip("repeats:Q", title="repeats"),
        *values,
        alt.Tooltip("oversubscribed:N", title="oversubscribed"),
    ]


def bar_height(rows: pl.DataFrame) -> int:
    """Of a chart with one horizontal bar per label, in CSS pixels."""
    bars = len(distinct(rows, "label"))
    return bars * max(22, min(40, 300 // bars))


def panels(
    drawing: alt.Chart | alt.LayerChart, column: str, rows: pl.DataFrame, height: int
) -> alt.FacetChart:
    """One small chart per value of a column; the page sets how many stand beside each other and how wide."""
    header = alt.Header(title=None, labelAnchor="start", labelPadding=8)
    facet = alt.Facet(f"{column}:N", header=header, sort=distinct(rows, column))
    faceted = drawing.properties(height=height).facet(facet, columns=1)
    own_axes: alt.FacetChart = faceted.resolve_axis(x="independent", y="independent")
    return own_axes
