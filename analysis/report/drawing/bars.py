"""Horizontal bars, one per label; if there are too many, those that matter most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Drawing, base, distinct

_PALE = 0.3
"""Opacity."""
BARS = 40
"""The most bars that a chart shows."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of a bar, in the order of the column `<part>_order`."""

    part: str
    names: Sequence[str]
    """Names of the parts, in their order."""
    colours: Sequence[str]
    value: str
    title: str
    """Title of the x axis, with the unit."""
    tooltip: Sequence[alt.Tooltip]
    """Lines that follow the case and the part."""
    kept: str
    """Which bars are kept if there are too many."""
    form: str = ""
    """d3 format of the x axis."""
    pale_where: str = ""
    """Vega expression: which parts are pale."""
    ranked_by: str = ""
    """Column whose sum ranks the bars; by default the value."""


def stacked(rows: pl.DataFrame, parts: Parts) -> Drawing:
    """A bar per label, its parts one after the other."""
    labels = bars(rows, parts.ranked_by or parts.value)
    scale = alt.Scale(domain=list(parts.names), range=list(parts.colours))
    view = (
        shown(base(), rows, labels)
        .mark_bar(size=14, stroke=theme.MUTED, strokeWidth=0.6)
        .encode(
            x=_along(parts),
            y=bar_axis(labels),
            color=alt.Color(f"{parts.part}:N", scale=scale, title=None),
            order=alt.Order(f"{parts.part}_order:Q"),
            tooltip=[
                alt.Tooltip("label:N", title="case"),
                alt.Tooltip(f"{parts.part}:N", title=parts.part),
                *parts.tooltip,
            ],
        )
        .properties(height=bar_height(labels))
    )
    if parts.pale_where:  # outlined: pale black would look like the grey of another part
        outline = alt.Stroke(f"{parts.part}:N", scale=scale, legend=None)
        view = view.encode(
            fillOpacity=alt.condition(parts.pale_where, alt.value(_PALE), alt.value(1)),
            stroke=alt.condition(parts.pale_where, outline, alt.value(theme.MUTED)),
        )
    return Drawing(views={"": view}, note=bars_note(rows, labels, parts.kept))


def _along(parts: Parts) -> alt.X:
    """The x axis. An axis of fractions ends at the longest bar."""
    if not parts.form:
        return alt.X(f"{parts.value}:Q", title=parts.title, axis=alt.Axis(grid=True))
    axis = alt.Axis(grid=True, format=parts.form, tickCount=10)
    return alt.X(f"{parts.value}:Q", title=parts.title, axis=axis, scale=alt.Scale(nice=False))


def bars(rows: pl.DataFrame, value: str) -> list[str]:
    """Labels of the bars to show: all in their order or, if there are too many, those with the largest sums."""
    labels = distinct(rows, "label")
    if len(labels) <= BARS:
        return labels
    sums = rows.group_by("label", maintain_order=True).agg(pl.col(value).sum())
    return sums.top_k(BARS, by=value).sort(value, descending=True).get_column("label").to_list()


def bar_axis(labels: Sequence[str]) -> alt.Y:
    return alt.Y("label:N", sort=list(labels), title=None, axis=alt.Axis(domain=False, ticks=False))


def shown(start: alt.Chart, rows: pl.DataFrame, labels: Sequence[str]) -> alt.Chart:
    """The chart with only the bars of these labels."""
    if len(labels) == len(distinct(rows, "label")):
        return start
    only: alt.Chart = start.transform_filter(alt.FieldOneOfPredicate(field="label", oneOf=list(labels)))
    return only


def bars_note(rows: pl.DataFrame, labels: Sequence[str], which: str) -> str:
    count = len(distinct(rows, "label"))
    return (
        "" if count == len(labels) else f"Drawn: the {len(labels)} of {count:,} {which}; the data have all."
    )


def bar_height(labels: Sequence[str]) -> int:
    """Height in CSS pixels of a chart with one bar per label, including its axis."""
    return 52 + len(labels) * max(22, min(40, 300 // max(len(labels), 1)))
