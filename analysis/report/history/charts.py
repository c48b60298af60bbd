"""Figures over the sessions of a suite: a panel for each case, a line for each placement."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import polars as pl

from analysis.report import frames, theme
from analysis.report.chart import (
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
from analysis.report.figures import figure
from analysis.report.headroom import HEADROOM, bounded, cut_note
from analysis.report.history.contents import History

HEIGHT = 170
"""Of a panel's drawing, in CSS pixels."""
MOST_PANELS = 12
"""Cases that are drawn; of more those that changed most."""
_LEAST_SPAN = 0.1
"""Of an axis of ratios, either side of 1: noise of a percent must not look like a cliff."""
_MOST_TICKS = 8
_READING = (
    "By session, the oldest first; the table of sessions has their numbers. Bars: 95 % intervals over repeats; none "
    "where there is one repeat. Dashed: something that must be equal changed, or settings did, where lines begin anew."
)


def figures(history: History) -> str:
    """HTML; nothing where no run is ok."""
    names = distinct(history.points, "panel")
    sql = frames.pasteable("history", suite=history.suite)
    drawn = [
        figure(f"over_sessions_{name}", chart, rows, names, sql, origin=f"suite {history.suite}")
        for name, chart, rows in (
            ("throughput", _THROUGHPUT, _with(history.points, "throughput")),
            ("efficiency", _EFFICIENCY, _scaled(_with(history.points, "efficiency"))),
        )
        if not rows.is_empty()
    ]
    return f'<div class="charts">{"".join(drawn)}</div>' if drawn else ""


def _with(points: pl.DataFrame, field: str) -> pl.DataFrame:
    return points.filter(pl.col(field).is_not_null())


def _scaled(points: pl.DataFrame) -> pl.DataFrame:
    """Baselines are their own measure."""
    return points.filter(~pl.col("is_baseline") & (pl.col("scaling") != "none"))


@dataclass(frozen=True, kw_only=True)
class _View:
    """One way to look at the rows."""

    field: str
    title: str
    form: str
    """Of its numbers, for d3."""
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
    kept = _kept(rows)
    few = few_sizes(rows)
    shown = few.rows.filter(pl.col("panel").is_in(kept))
    of_kept = few.start.transform_filter(alt.FieldOneOfPredicate(field="panel", oneOf=kept))
    few = FewSizes(rows=shown, start=of_kept, note=few.note)
    count = len(distinct(rows, "panel"))
    left_out = f"Drawn: the {len(kept)} of {count:,} cases that changed most." if len(kept) < count else ""
    cut = [_cut_note(shown, view) for view in views.values() if view.field != "relative"]
    return Drawing(
        views={
            label: _own_scales(panels(layered(*_layers(few, view)), "panel", shown, HEIGHT), view)
            for label, view in views.items()
        },
        choice="y axis" if len(views) > 1 else "",
        note=sentences(few.note, left_out, cut[0]),
    )


def _own_scales(drawing: alt.FacetChart, view: _View) -> alt.FacetChart:
    """Throughputs of cases differ by orders of magnitude, ratios and efficiencies can be held against each other."""
    return drawing.resolve_scale(y="independent") if view.field == "throughput" else drawing


def _cut_note(rows: pl.DataFrame, view: _View) -> str:
    """Of the panels, each with its own end where each has its own scale."""
    parts = rows.partition_by("panel") if view.field == "throughput" else [rows]
    return next(filter(None, (cut_note(part, view.field) for part in parts)), "")


def _kept(rows: pl.DataFrame) -> list[str]:
    """Cases with regressions first, then those whose ratio is farthest from 1 while alike."""
    names = distinct(rows, "panel")
    if len(names) <= MOST_PANELS:
        return names
    far = pl.col("ratio").filter("is_alike").log().abs().max().fill_null(0)
    by = rows.group_by("panel", maintain_order=True).agg(pl.col("regression").any(), far.alias("far"))
    ordered = (
        by.sort(["regression", "far"], descending=True, maintain_order=True).get_column("panel").to_list()
    )
    return [name for name in names if name in ordered[:MOST_PANELS]]


def _layers(few: FewSizes, view: _View) -> list[alt.Chart]:
    rows = few.rows
    x, y = _sessions_axis(rows), _axis(rows, view)
    start = few.start.encode(x=x, color=size_colour(rows))
    detail = [alt.Detail(f"{name}:N") for name in ("line", "placement", "experiment")]
    low, high = alt.Y(f"{view.field}_lo:Q", title=view.title), alt.Y2(f"{view.field}_hi:Q")
    layers = [
        (_changes(few, x), bool(rows.get_column("marked").is_not_null().any())),
        (start.mark_line(opacity=0.6).encode(y=y, detail=detail), True),
        (
            _ends(start, view).mark_rule(strokeWidth=1.5, clip=True).encode(y=low, y2=high),
            rows.get_column(f"{view.field}_lo").null_count() < rows.height,
        ),
        (start.mark_point(size=42, filled=True, opacity=1).encode(y=y, tooltip=_tooltip(view)), True),
        (_rings(few, x, y), view.field != "efficiency" and bool(rows.get_column("regression").any())),
    ]
    return [layer for layer, is_shown in layers if is_shown]


def _ends(start: alt.Chart, view: _View) -> alt.Chart:
    """Where a scale follows its panel's values, long intervals must not: they are cut as headroom.py cuts axes."""
    if view.field != "throughput":
        return start
    tops: alt.Chart = start.transform_joinaggregate(panel_top="max(throughput)", groupby=["panel"])
    cut = f"datum.throughput_hi === null ? null : min(datum.throughput_hi, {HEADROOM} * datum.panel_top)"
    return tops.transform_calculate(throughput_hi=cut)


def _sessions_axis(rows: pl.DataFrame) -> alt.X:
    numbers = sorted(distinct(rows, "session_order"))
    step = -(-len(numbers) // _MOST_TICKS)
    axis = alt.Axis(format="d", values=numbers[::step], grid=False)
    return alt.X(
        "session_order:Q", title="session", axis=axis, scale=alt.Scale(zero=False, nice=False, padding=14)
    )


def _axis(rows: pl.DataFrame, view: _View) -> alt.Y:
    axis = alt.Axis(format=".0%" if view.field == "efficiency" else ",~r", tickCount=4)
    if view.field == "efficiency":
        scale = bounded(alt.Scale(zero=True), rows, view.field, ideal=1.0)
    elif view.field == "throughput":
        scale = alt.Scale(zero=True)
    else:
        scale = alt.Scale(zero=False, domain=_around_one(rows))
    return alt.Y(f"{view.field}:Q", title=view.title, scale=scale, axis=axis)


def _around_one(rows: pl.DataFrame) -> list[float]:
    """All values, and of intervals what lies a little beyond them: few repeats make long ones."""
    values = rows.get_column("relative")
    room = 0.5 * _LEAST_SPAN
    least, most = float(values.min()) - room, float(values.max()) + room  # type: ignore[arg-type]
    return [min(least, 1 - _LEAST_SPAN), max(most, 1 + _LEAST_SPAN)]


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


def _rings(few: FewSizes, x: alt.X, y: alt.Y) -> alt.Chart:
    slower = few.start.transform_filter("datum.regression")
    rings: alt.Chart = slower.mark_point(
        size=210, filled=False, opacity=1, strokeWidth=2, color="var(--bad)"
    ).encode(x=x, y=y)
    return rings


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
