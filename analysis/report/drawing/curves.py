"""Results over workers: a line per case with its 95 % intervals; if there are many cases, only the extremes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, base, case_colour, case_shape, distinct, once
from analysis.report.html.markup import cut

HEIGHT = 340
"""CSS pixels of these charts, including axes."""
EXTREMES = 3
"""Cases at each end that have a colour if there are more cases than colours."""
_FEW_SIZES = 3
"""Up to this number of sizes, intervals are bars: a band between two sizes would be a meaningless wedge."""
_LARGE = 40
"""Above this ratio of two results, a linear axis would hide the smaller one."""
_MOST_TICKS = 10
_DOUBLED = 8
"""From this number of workers and more than a few sizes, axes are logarithmic: sizes usually double."""
_MOST_LABELS = 6
"""The most lines that are named at their ends."""
_LONGEST_LABEL = 18
"""Characters."""
_LABEL_GAP = 0.06
"""Distance between two labels, as a share of the axis."""
_DODGE = 0.013
"""Distance between the bars of two cases, as a share of the axis."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A quantity over workers; `<field>_lo` to `<field>_hi` is its interval."""

    field: str
    y: alt.Y
    title: str
    """Title of the y axis, with the unit."""
    tooltip: Sequence[alt.Tooltip]
    lines: str = "case_name"
    """The field; each of its values has a line, a colour and a shape."""


def workers_axis(rows: pl.DataFrame, field: str = "workers") -> alt.X:
    """The x axis: linear for few small sizes, otherwise logarithmic to base 2, so that small sizes do not crowd."""
    sizes = sorted(distinct(rows, "workers"))
    title = {"ranks": "ranks", "threads": "threads per rank"}
    axes = distinct(rows, "axis")
    kind: dict[str, Any] = {"type": "log", "base": 2} if is_wide(rows) else {"zero": False}
    scale = alt.Scale(nice=False, padding=18, **kind)
    axis = alt.Axis(values=_ticks(sizes), format="d", grid=True)
    return alt.X(f"{field}:Q", scale=scale, axis=axis, title=" or ".join(title[axis] for axis in axes))


def _ticks(sizes: list[int]) -> list[int]:
    """Every size if there are few. Otherwise the largest and the powers of two (or any sizes if powers are rare), far
    enough apart for their labels."""
    if len(sizes) <= _MOST_TICKS:
        return sizes
    powers = [size for size in sizes if size & (size - 1) == 0]
    kept = [sizes[-1]]
    for size in reversed(powers if len(powers) > 2 else sizes):
        if size <= 0.75 * kept[-1]:
            kept.append(size)
    return kept[::-1]


def is_wide(rows: pl.DataFrame) -> bool:
    """Whether sizes double too often for a linear axis."""
    sizes = distinct(rows, "workers")
    return bool(max(sizes) > 16 or (max(sizes) >= _DOUBLED and len(sizes) > _FEW_SIZES))


def end_labels(rows: pl.DataFrame) -> list[alt.Chart]:
    """The name of each case at its largest size, moved apart where lines end close together; none if there are more
    cases than there is room for."""
    ends = rows.sort("workers", maintain_order=True).group_by("case_name", maintain_order=True).last()
    if ends.height > _MOST_LABELS:
        return []
    is_log = is_wide(rows)
    places = [(math.log(value) if is_log else value) for value in ends.get_column("speedup")]
    ticks = [math.log(value) if is_log else value for value in _values(rows, "speedup")]
    gap = _LABEL_GAP * (max(ticks) - min(ticks) if is_log else max(ticks))
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = dict(zip(order, _apart([places[place] for place in order], gap), strict=True))
    labels = []
    for place, end in enumerate(ends.to_dicts()):
        at = math.exp(moved[place]) if is_log else moved[place]
        name = cut(end["case_name"], _LONGEST_LABEL)
        mark = once().mark_text(x="width", align="left", baseline="middle", dx=8, text=name, color=theme.INK)
        labels.append(mark.encode(y=alt.YDatum(at)))
    return labels


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Ascending places, moved as little as needed so that neighbours are `gap` apart."""
    groups: list[list[float]] = []  # each is moved as one, around its mean
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _start(groups[-1], gap) < _start(groups[-2], gap) + len(groups[-2]) * gap:
            last = groups.pop()
            groups[-1] += last
    return [_start(group, gap) + step * gap for group in groups for step in range(len(group))]


def _start(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) - gap * (len(group) - 1) / 2


def result_scale(rows: pl.DataFrame) -> alt.Scale:
    """Scale of a result that should grow with the workers. Like workers_axis, so ideal scaling is a straight line."""
    return alt.Scale(type="log", base=2) if is_wide(rows) else alt.Scale(zero=True)


def result_axis(rows: pl.DataFrame) -> alt.Axis:
    """The y axis. On a logarithmic scale it labels powers of two; Vega would choose odd multiples."""
    return (
        alt.Axis(values=[2.0**power for power in range(-8, 16)], format=".3~r")
        if is_wide(rows)
        else alt.Axis()
    )


def magnitude_scale(rows: pl.DataFrame, field: str) -> alt.Scale:
    """Scale of a result without an ideal line. It is also logarithmic if the cases differ by too much for a linear
    axis."""
    values = rows.get_column(field)
    is_large = float(values.max() or 0) > _LARGE * float(values.min() or 0)  # type: ignore[arg-type]
    return alt.Scale(type="log") if is_wide(rows) or is_large else alt.Scale(zero=True)


def curves(rows: pl.DataFrame, cases: Cases, curve: Curve) -> list[alt.Chart]:
    """Intervals, line and points of each case. If there are more cases than colours, only the extremes have them; the
    others are grey lines. Oversubscribed points are hollow; points on several nodes have a ring."""
    every, start, layers = rows, base(), []
    if named := extremes(rows, cases, curve.field):
        opacity = min(
            0.5, max(0.12, 15 / len(distinct(rows, "case_name")))
        )  # pale, so that dense regions are visible
        context = base().mark_line(color=theme.CONTEXT, strokeWidth=1, opacity=round(opacity, 2))
        layers = [
            context.encode(
                x=workers_axis(rows),
                y=curve.y,
                detail=alt.Detail("case_name:N"),
                tooltip=[alt.Tooltip("case_name:N", title="case")],
            )
        ]
        start = start.transform_filter(alt.FieldOneOfPredicate(field="case_name", oneOf=named))
        rows = rows.filter(pl.col("case_name").is_in(named))
        rows = rows.sort(pl.col("case_name").replace_strict(named, range(len(named))), maintain_order=True)
    has_interval = rows.filter(pl.col(f"{curve.field}_lo").is_not_null())
    sizes = has_interval.group_by(curve.lines, maintain_order=True).agg(pl.col("workers").n_unique())
    barred = sizes.filter(pl.col("workers") <= _FEW_SIZES).get_column(curve.lines).to_list()
    banded = [name for name in distinct(rows, curve.lines) if name not in barred]
    is_bar = has_interval.get_column(curve.lines).is_in(barred)
    colour = case_colour(rows, cases, curve.lines)
    start = _dodged(start, every, barred, curve.lines).encode(x=workers_axis(every, "at"), color=colour)
    ends = {"y": alt.Y(f"{curve.field}_lo:Q", title=curve.title), "y2": alt.Y2(f"{curve.field}_hi:Q")}
    # A layer without rows would leave its scale without an extent.
    if not is_bar.all():
        band = start.transform_filter(alt.FieldOneOfPredicate(field=curve.lines, oneOf=banded))
        layers.append(band.mark_area(opacity=0.18, clip=True).encode(**ends))
    if is_bar.any():
        bar = start.transform_filter(alt.FieldOneOfPredicate(field=curve.lines, oneOf=barred))
        layers.append(bar.mark_rule(strokeWidth=1.5, clip=True).encode(**ends))
    layers.append(start.mark_line().encode(y=curve.y))
    points = start.mark_point(size=80, filled=True, opacity=1)
    shape = case_shape(rows, cases, curve.lines)
    layers.append(points.encode(y=curve.y, shape=shape, tooltip=list(curve.tooltip)))
    if rows.get_column("oversubscribed").any():
        hollow = start.transform_filter("datum.oversubscribed").mark_point(opacity=1, size=24, filled=True)
        layers.append(hollow.encode(color=alt.ColorValue(theme.PAPER), y=curve.y))
    if "across_nodes" in distinct(rows, "locality"):
        ring = start.transform_filter("datum.locality === 'across_nodes'")
        ring = ring.mark_point(opacity=1, size=220, filled=False)
        layers.append(ring.encode(color=alt.ColorValue(theme.MUTED), y=curve.y))
    return layers


def _dodged(start: alt.Chart, rows: pl.DataFrame, barred: list[str], lines: str) -> alt.Chart:
    """Add `at`, the place on the x axis: the bars of several cases at one size are next to each other."""
    sizes = distinct(rows, "workers")
    if len(barred) < 2 or len(sizes) < 2:
        return start.transform_calculate(at="datum.workers")
    place_of_line = f"indexof({json.dumps(barred)}, datum.{lines})"  # names are not trusted: JSON quotes them
    place = f"({place_of_line} - {(len(barred) - 1) / 2})"
    if is_wide(rows):
        moved = f"datum.workers * pow({max(sizes) / min(sizes)}, {_DODGE} * {place})"
    else:
        moved = f"datum.workers + {_DODGE * (max(sizes) - min(sizes))} * {place}"
    return start.transform_calculate(at=f"{place_of_line} < 0 ? datum.workers : {moved}")


def extremes(rows: pl.DataFrame, cases: Cases, field: str) -> list[str]:
    """The cases with the largest and the smallest values at their largest size, highest first; empty if every case has
    a colour."""
    if len(cases) <= theme.CATEGORIES:
        return []
    largest = rows.sort("workers", maintain_order=True).group_by("case_name", maintain_order=True).last()
    ordered = largest.sort(field, descending=True).get_column("case_name").to_list()
    return ordered if len(ordered) <= 2 * EXTREMES else [*ordered[:EXTREMES], *ordered[-EXTREMES:]]


def extremes_note(rows: pl.DataFrame, cases: Cases, field: str) -> str:
    count = len(distinct(rows, "case_name"))
    if len(extremes(rows, cases, field)) in (0, count):
        return ""
    return (
        f"{count:,} cases: in colour the {EXTREMES} highest and the {EXTREMES} lowest at their largest size, the "
        "others grey."
    )


# An axis ends a little beyond the values, not at the end of an interval: with few repeats, intervals are very long.

HEADROOM = 1.5
"""Largest end of an axis, as a multiple of the largest value."""
_FOOTROOM = 4.0
"""Largest ratio of the smallest value to the start of a logarithmic axis."""


def top(rows: pl.DataFrame, field: str, ideal: float = 0.0) -> float:
    """End of the axis of `field`, whose interval is `<field>_lo` to `<field>_hi`; it includes `ideal`."""
    largest = max([ideal, *_values(rows, field)])
    return min(max([largest, *_values(rows, f"{field}_hi")]), HEADROOM * largest)


def bounded(scale: alt.Scale, rows: pl.DataFrame, field: str, ideal: float = 0.0) -> alt.Scale:
    """The scale, ending at `top`; a logarithmic one also gets a start."""
    scale.domainMax = top(rows, field, ideal)
    if scale.to_dict().get("type") == "log":
        scale.domainMin = _bottom(rows, field)
    return scale


def cut_note(rows: pl.DataFrame, field: str, ideal: float = 0.0) -> str:
    """A note if an interval is cut; otherwise empty."""
    is_cut = max(_values(rows, f"{field}_hi"), default=0.0) > top(rows, field, ideal)
    return "Intervals cut at the edge continue." if is_cut else ""


def _bottom(rows: pl.DataFrame, field: str) -> float:
    smallest = min(_values(rows, field))
    return max(min([smallest, *_values(rows, f"{field}_lo")]), smallest / _FOOTROOM)


def _values(rows: pl.DataFrame, name: str) -> list[float]:
    return rows.get_column(name).drop_nulls().to_list() if name in rows.columns else []
