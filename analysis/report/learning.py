"""What training reaches, all configurations over each other: by step, by epoch and by wall time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import altair as alt
import polars as pl

from analysis.report.chart import (
    Cases,
    Drawing,
    FewSizes,
    case_colour,
    case_shape,
    coloured,
    distinct,
    few_sizes,
    layered,
    limit_note,
    line_tooltip,
    sentences,
    size_dash,
)
from analysis.report.nonfinite import crosses, has_nonfinite, nonfinite_note

HEIGHT = 320
"""CSS pixels, axes included."""
_BY = {
    "step": ("step", "step", "d"),
    "epoch": ("epoch", "epoch", "~g"),
    "wall time": ("time_s", "wall time since the barrier (s)", "~s"),
}


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """What is drawn over step, epoch and wall time."""

    field: str
    title: str
    """Of the y axis, with the unit where it has one."""
    form: str
    """Of the numbers, for d3."""
    has_points: bool
    """Few enough values for a mark at each."""


def overlay(rows: pl.DataFrame, cases: Cases, quantity: Quantity) -> Drawing:
    """A line per case and placement, over `step`, `epoch` and `time_s` as far as they are known."""
    few = few_sizes(rows)
    views = {
        label: _view(few, cases, alt.X(f"{field}:Q", title=name, axis=_axis(number)), quantity)
        for label, (field, name, number) in _BY.items()
        if rows.get_column(field).is_not_null().any()
    }
    note = limit_note(rows, "case_name", "those that end highest and lowest")
    note = sentences(note, few.note, nonfinite_note(rows, quantity.field))
    return Drawing(views=views, choice="x axis", note=note)


def _axis(number: str) -> alt.Axis:
    return alt.Axis(format=number, tickCount=6)


def _width(rows: pl.DataFrame, cases: Cases) -> alt.Size:
    """Later cases thin on top of earlier ones, so that lines that coincide can still be counted."""
    named = coloured(rows, cases)
    more = min(0.8, 3 / max(len(named) - 1, 1))
    widths = [round(1.4 + more * (len(named) - 1 - place), 1) for place in range(len(named))]
    present = alt.Legend(values=distinct(rows, "case_name"))
    return alt.Size(
        "case_name:O", scale=alt.Scale(type="ordinal", domain=named, range=widths), legend=present
    )


def _view(few: FewSizes, cases: Cases, x: alt.X, quantity: Quantity) -> alt.LayerChart:
    tooltip = _tooltip(quantity)
    rows = few.rows
    start = few.start.encode(
        x=x,
        y=alt.Y(
            f"{quantity.field}:Q",
            title=quantity.title,
            scale=alt.Scale(zero=False),
            axis=_labels(rows, quantity),
        ),
        color=case_colour(rows, cases),
        detail=alt.Detail("placement:N"),
    )
    line = start.mark_line(opacity=1).encode(
        strokeDash=size_dash(rows), size=_width(rows, cases), tooltip=tooltip
    )
    points = start.mark_point(filled=True, size=45, opacity=1)
    points = points.encode(shape=case_shape(rows, cases), tooltip=tooltip)
    layers = [line, points] if quantity.has_points else [line]
    if has_nonfinite(rows, quantity.field):
        layers.append(crosses(start, quantity.field, tooltip=tooltip))
    view: alt.LayerChart = layered(*layers, height=HEIGHT)
    return view


def _labels(rows: pl.DataFrame, quantity: Quantity) -> alt.Axis:
    """Percentages with the decimals that tell neighbouring ticks apart."""
    if "%" not in quantity.form:
        return alt.Axis()
    values: list[float] = rows.get_column(quantity.field).drop_nulls().to_list()
    spread_pct = 100 * (max(values, default=0) - min(values, default=0))
    decimals = 1 if spread_pct <= 0 else min(4, max(0, math.ceil(-math.log10(spread_pct / 6))))
    return alt.Axis(format=f".{decimals}%")


def _tooltip(quantity: Quantity) -> list[alt.Tooltip]:
    return line_tooltip(
        alt.Tooltip("repeat:Q", title="repeat"),
        alt.Tooltip("step:Q", title="step"),
        alt.Tooltip("epoch:Q", title="epoch", format=".3~f"),
        alt.Tooltip("time_s:Q", title="wall time, s", format=",.4~r"),
        alt.Tooltip(f"{quantity.field}:Q", title=quantity.title.partition(" (")[0], format=quantity.form),
    )
