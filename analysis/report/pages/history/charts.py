"""Figures over the sessions of a suite: a panel for each case, a line for each placement."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import polars as pl
from markupsafe import Markup

from analysis.report import named_queries
from analysis.report.drawing import theme
from analysis.report.drawing.chart import (
    Cases,
    Chart,
    Drawing,
    FewSizes,
    distinct,
    few_sizes,
    layered,
    panels,
    sentences,
    size_colour,
)
from analysis.report.drawing.curves import HEADROOM, bounded, cut_note
from analysis.report.drawing.figure import figure
from analysis.report.html.render import render
from analysis.report.pages.history.data import History

HEIGHT = 170
"""CSS pixels of a panel's drawing."""
MOST_PANELS = 12
"""The most cases that are drawn; if there are more, those that changed most."""
_LEAST_SPAN = 0.1
"""Least extent of an axis of ratios on each side of 1: noise of a percent must not look like a cliff."""
_MOST_TICKS = 8
_READING = (
    "By session, the oldest first; the table of sessions has their numbers. Bars: 95 % intervals over repeats; none "
    "for a single repeat. Dashed: something that must be equal changed, or settings did; then a new line begins."
)


def throughput(history: History) -> Markup:
    """The picture of a history; empty if no run is ok."""
    return _figure(history, "throughput", _THROUGHPUT, pl.col("throughput").is_not_null())


def efficiency(history: History) -> Markup:
    """The chart; empty without a case that scales. A baseline's efficiency is 100 %."""
    is_scaled = ~pl.col("is_baseline") & (pl.col("scaling_mode") != "none")
    return _figure(history, "efficiency", _EFFICIENCY, pl.col("efficiency").is_not_null() & is_scaled)


def _figure(history: History, name: str, chart: Chart, has_value: pl.Expr) -> Markup:
    rows = history.points.filter(has_value)
    if rows.is_empty():
        return Markup()
    rows = rows.with_columns(pl.col("panel").n_unique().alias("panel_count"))
    is_followed = pl.col("session_order").n_unique().over("panel") > 1
    rows = rows.filter(is_followed | ~is_followed.any())
    kept = _kept(rows)
    order = pl.col("panel").replace_strict(kept, range(len(kept)), default=None)
    drawn = rows.with_columns(order.alias("place"))
    drawn = drawn.filter(pl.col("place").is_not_null()).sort("place", maintain_order=True).drop("place")
    sql = named_queries.pasteable("history", suite=history.suite)
    made = figure(f"over_sessions_{name}", chart, drawn, kept, sql, origin=f"suite {history.suite}")
    return render("sections/charts", figures=[made], missing="")


@dataclass(frozen=True, kw_only=True)
class _View:
    """A quantity over sessions."""

    field: str
    title: str
    form: str
    """d3 format of its numbers."""
    unit: str = ""


def _draw_throughput(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    unit = distinct(rows, "throughput_unit")[0]
    relative = _View(field="relative", title="× first session", form=".3~f", unit="×")
    absolute = _View(field="throughput", title=unit, form=",.4~r", unit=unit)
    is_followed = rows.group_by("line", "placement", "experiment").len().get_column("len").max() != 1
    views = [relative, absolute] if is_followed else [absolute, relative]
    labels = {"relative": "over the first session with these settings", "throughput": unit}
    return _drawing(rows, {labels[view.field]: view for view in views})


def _draw_efficiency(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    return _drawing(rows, {"": _View(field="efficiency", title="efficiency (%)", form=".1%")})


def _drawing(rows: pl.DataFrame, views: dict[str, _View]) -> Drawing:
    few = few_sizes(rows)
    shown = few.rows
    kept, count = len(distinct(rows, "panel")), rows.get_column("panel_count")[0]
    others = f"Drawn: {kept:,} of {count:,} cases; the others ran in one session or changed less."
    left_out = others if kept < count else ""
    drawn = {}
    cut = ""
    for label, view in views.items():
        drawn[label] = panels(layered(*_layers(few, view)), "panel", shown, HEIGHT)
        if view.field == "throughput":  # cases differ by orders of magnitude
            drawn[label] = drawn[label].resolve_scale(y="independent")
        if view.field != "relative":
            scaled = shown.partition_by("panel") if view.field == "throughput" else [shown]
            cut = next(filter(None, (cut_note(part, view.field) for part in scaled)), "")
    choice = "y axis" if len(views) > 1 else ""
    return Drawing(views=drawn, choice=choice, note=sentences(few.note, left_out, cut))


def _kept(rows: pl.DataFrame) -> list[str]:
    """The cases to draw: those that changed for certain in the newest session first, then those with a regression in
    any. If there are too many, the others are those whose ratio to a like session is farthest from 1."""
    far = pl.col("ratio").filter("is_alike").log().abs().max().fill_null(0)
    is_newest = pl.col("session_order") == max(distinct(rows, "session_order"))
    changed = ((pl.col("regression") | pl.col("improvement")) & is_newest).any()
    by = rows.group_by("panel", maintain_order=True).agg(
        changed.alias("changed"), pl.col("regression").any(), far.alias("far")
    )
    kinds = ["changed", "regression"]
    most = by.sort([*kinds, "far"], descending=True, maintain_order=True).head(MOST_PANELS)
    chosen = by.filter(pl.col("panel").is_in(most.get_column("panel").to_list()))
    return chosen.sort(kinds, descending=True, maintain_order=True).get_column("panel").to_list()


def _layers(few: FewSizes, view: _View) -> list[alt.Chart]:
    rows = few.rows
    numbers = sorted(distinct(rows, "session_order"))
    x = alt.X(
        "session_order:Q",
        title="session",
        axis=alt.Axis(format="d", values=numbers[:: -(-len(numbers) // _MOST_TICKS)], grid=False),
        scale=alt.Scale(zero=False, nice=False, padding=14),
    )
    y = _axis(rows, view)
    start = few.start.encode(x=x, color=size_colour(rows))
    detail = [alt.Detail(f"{name}:N") for name in ("line", "placement", "experiment")]
    layers = []
    if rows.get_column("marked").is_not_null().any():
        layers.append(_changes(few, x))
    layers.append(start.mark_line(opacity=0.6).encode(y=y, detail=detail))
    if rows.get_column(f"{view.field}_lo").is_not_null().any():
        ends = {"y": alt.Y(f"{view.field}_lo:Q", title=view.title), "y2": alt.Y2(f"{view.field}_hi:Q")}
        layers.append(_ends(start, view).mark_rule(strokeWidth=1.5, clip=True).encode(**ends))
    layers.append(start.mark_point(size=42, filled=True, opacity=1).encode(y=y, tooltip=_tooltip(view)))
    if view.field != "efficiency" and rows.get_column("regression").any():
        ring = few.start.transform_filter("datum.regression").mark_point(
            size=210, filled=False, opacity=1, strokeWidth=2, color="var(--bad)"
        )
        layers.append(ring.encode(x=x, y=y))
    return layers


def _ends(start: alt.Chart, view: _View) -> alt.Chart:
    """Cut the intervals of panels that have their own scales, as curves.top cuts axes."""
    if view.field != "throughput":
        return start
    tops: alt.Chart = start.transform_joinaggregate(panel_top="max(throughput)", groupby=["panel"])
    cut = f"datum.throughput_hi === null ? null : min(datum.throughput_hi, {HEADROOM} * datum.panel_top)"
    return tops.transform_calculate(throughput_hi=cut)


def _axis(rows: pl.DataFrame, view: _View) -> alt.Y:
    axis = alt.Axis(format=".0%" if view.field == "efficiency" else ",~r", tickCount=4)
    if view.field == "efficiency":
        scale = bounded(alt.Scale(zero=True), rows, view.field, ideal=1.0)
    elif view.field == "throughput":
        scale = alt.Scale(zero=True)
    else:  # all ratios and a little more: with few repeats, intervals are too long for an axis
        ratios = rows.get_column("relative").drop_nulls().to_list()
        room = 0.5 * _LEAST_SPAN
        domain = [min(min(ratios) - room, 1 - _LEAST_SPAN), max(max(ratios) + room, 1 + _LEAST_SPAN)]
        scale = alt.Scale(zero=False, domain=domain)
    return alt.Y(f"{view.field}:Q", title=view.title, scale=scale, axis=axis)


def _changes(few: FewSizes, x: alt.X) -> alt.Chart:
    """One rule for all placements of a session in which something changed."""
    marked = few.start.transform_filter("datum.marked !== null")
    marked = marked.transform_aggregate(groupby=["panel", "session_order", "began", "marked"])
    rule = marked.mark_rule(color=theme.MUTED, strokeDash=[3, 3], strokeWidth=1.2)
    changes: alt.Chart = rule.encode(
        x=x,
        tooltip=[
            alt.Tooltip("session_order:Q", title="session"),
            alt.Tooltip("began:N", title="began (UTC)"),
            alt.Tooltip("marked:N", title="changed"),
        ],
    )
    return changes


def _tooltip(view: _View) -> list[alt.Tooltip]:
    unit = f", {view.unit}" if view.unit else ""
    return [
        alt.Tooltip("panel:N", title="case"),
        alt.Tooltip("placement:N", title="placement"),
        alt.Tooltip("session_order:Q", title="session"),
        alt.Tooltip("began:N", title="began (UTC)"),
        alt.Tooltip("repeats:Q", title="repeats"),
        alt.Tooltip(f"{view.field}:Q", title=f"{view.field}{unit}", format=view.form),
        alt.Tooltip(f"{view.field}_lo:Q", title=f"from{unit}", format=view.form),
        alt.Tooltip(f"{view.field}_hi:Q", title=f"to{unit}", format=view.form),
        alt.Tooltip("ratio:Q", title="ratio to the session before", format=".3~f"),
        alt.Tooltip("verdict:N", title="verdict"),
        alt.Tooltip("marked:N", title="changed"),
    ]


_THROUGHPUT = Chart(
    order=0,
    question="How fast was it, session by session?",
    reading=f"{_READING} Ring: a regression. Each panel of throughputs has its own axis.",
    draw=_draw_throughput,
    wide=True,
)
_EFFICIENCY = Chart(
    order=1,
    question="How efficient was it, session by session?",
    reading=_READING,
    draw=_draw_efficiency,
    wide=True,
)
