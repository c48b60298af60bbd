"""Results over workers: a line per case with its 95 % intervals; where there are many cases, the extremes of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import Cases, base, case_colour, case_shape, distinct

HEIGHT = 340
"""Of these charts, axes included, in CSS pixels."""
EXTREMES = 3
"""Cases at either end that have a colour where there are more than there are colours."""
_FEW_SIZES = 3
"""Up to so many sizes intervals are bars: between two sizes a band is a wedge that says nothing."""
_LARGE = 40
"""Ratio of two results beyond which the smaller lies on the axis."""
_MOST_TICKS = 10
_DODGE = 0.013
"""Of the axis, from the bar of one case to that of the next."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """What is drawn over workers; `<field>_lo` and `<field>_hi` are the interval."""

    field: str
    y: alt.Y
    title: str
    """Of the y axis, with the unit."""
    tooltip: Sequence[alt.Tooltip]
    lines: str = "case_name"
    """The field that has a line, a colour and a shape for each of its values."""


def workers_axis(rows: pl.DataFrame, field: str = "workers") -> alt.X:
    """Linear up to 16 workers; beyond, where small sizes would crowd together, logarithmic to base 2."""
    sizes = sorted(distinct(rows, "workers"))
    title = {"ranks": "ranks", "threads": "threads per rank"}
    axes = distinct(rows, "axis")
    kind: dict[str, Any] = {"type": "log", "base": 2} if is_wide(rows) else {"zero": False}
    scale = alt.Scale(nice=False, padding=18, **kind)
    axis = alt.Axis(values=_ticks(sizes), format="d", grid=True)
    return alt.X(f"{field}:Q", scale=scale, axis=axis, title=" or ".join(title[axis] for axis in axes))


def _ticks(sizes: list[int]) -> list[int]:
    """Every size where there are few; else the largest and, apart from it, the powers of two, or any where there are
    hardly any of those."""
    if len(sizes) <= _MOST_TICKS:
        return sizes
    powers = [size for size in sizes if size & (size - 1) == 0]
    kept = [sizes[-1]]
    for size in reversed(powers if len(powers) > 2 else sizes):
        if size <= 0.75 * kept[-1]:  # or their labels would touch
            kept.append(size)
    return kept[::-1]


def is_wide(rows: pl.DataFrame) -> bool:
    """More workers than a linear axis can show."""
    return bool(max(distinct(rows, "workers")) > 16)


def result_scale(rows: pl.DataFrame) -> alt.Scale:
    """Of what should grow with the workers: follows workers_axis, so that ideal scaling stays a straight line."""
    return alt.Scale(type="log", base=2) if is_wide(rows) else alt.Scale(zero=True)


def result_axis(rows: pl.DataFrame) -> alt.Axis:
    """On a logarithmic scale the powers of two: Vega's own choice are odd multiples."""
    return (
        alt.Axis(values=[2.0**power for power in range(-8, 16)], format=".3~r")
        if is_wide(rows)
        else alt.Axis()
    )


def magnitude_scale(rows: pl.DataFrame, field: str) -> alt.Scale:
    """Of what has no ideal line: logarithmic too where the cases differ by more than an axis from zero can show."""
    values = rows.get_column(field)
    is_large = float(values.max() or 0) > _LARGE * float(values.min() or 0)  # type: ignore[arg-type]
    return alt.Scale(type="log") if is_wide(rows) or is_large else alt.Scale(zero=True)


def curves(rows: pl.DataFrame, cases: Cases, curve: Curve) -> list[alt.Chart]:
    """Interval, line and points of each case. Oversubscribed points are hollow; those on several nodes have a ring."""
    named = extremes(rows, cases, curve.field)
    if not named:
        return _named(base(), rows, cases, curve, over=rows)
    opacity = min(
        0.5, max(0.12, 15 / len(distinct(rows, "case_name")))
    )  # so that a bundle shows where it is dense
    context = base().mark_line(color=theme.CONTEXT, strokeWidth=1, opacity=round(opacity, 2))
    context = context.encode(
        x=workers_axis(rows),
        y=curve.y,
        detail=alt.Detail("case_name:N"),
        tooltip=[alt.Tooltip("case_name:N", title="case")],
    )
    only = alt.FieldOneOfPredicate(field="case_name", oneOf=named)
    few = rows.filter(pl.col("case_name").is_in(named))
    few = few.sort(pl.col("case_name").replace_strict(named, range(len(named))), maintain_order=True)
    return [context, *_named(base().transform_filter(only), few, cases, curve, over=rows)]


def extremes(rows: pl.DataFrame, cases: Cases, field: str) -> list[str]:
    """The cases with the largest and the smallest value at their largest size, highest first; nothing where every
    case has a colour."""
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


def _named(
    start: alt.Chart, rows: pl.DataFrame, cases: Cases, curve: Curve, *, over: pl.DataFrame
) -> list[alt.Chart]:
    """`over` has the sizes of the axis, which is one for all that is drawn."""
    barred = _barred(rows, curve)
    colour = case_colour(rows, cases, curve.lines)
    start = _dodged(start, over, barred, curve.lines).encode(x=workers_axis(over, "at"), color=colour)
    y, y2 = alt.Y(f"{curve.field}_lo:Q", title=curve.title), alt.Y2(f"{curve.field}_hi:Q")
    is_barred = alt.FieldOneOfPredicate(field=curve.lines, oneOf=barred)
    banded = [name for name in distinct(rows, curve.lines) if name not in barred]
    is_banded = alt.FieldOneOfPredicate(field=curve.lines, oneOf=banded)
    band = start.transform_filter(is_banded).mark_area(opacity=0.18, clip=True)
    bar = start.transform_filter(is_barred).mark_rule(strokeWidth=1.5, clip=True)
    points = start.mark_point(size=80, filled=True, opacity=1)
    has_interval = rows.filter(pl.col(f"{curve.field}_lo").is_not_null())
    is_bar = has_interval.get_column(curve.lines).is_in(barred)
    # A layer without rows of its own would give its scale no extent.
    layers = [
        (band.encode(y=y, y2=y2), not is_bar.all()),
        (bar.encode(y=y, y2=y2), is_bar.any()),
        (start.mark_line().encode(y=curve.y), True),
        (
            points.encode(y=curve.y, shape=case_shape(rows, cases, curve.lines), tooltip=list(curve.tooltip)),
            True,
        ),
        *_marks(start, rows, curve.y),
    ]
    return [layer for layer, is_shown in layers if is_shown]


def _barred(rows: pl.DataFrame, curve: Curve) -> list[str]:
    """Lines whose interval is drawn as bars."""
    measured = rows.filter(pl.col(f"{curve.field}_lo").is_not_null())
    sizes = measured.group_by(curve.lines, maintain_order=True).agg(pl.col("workers").n_unique())
    return sizes.filter(pl.col("workers") <= _FEW_SIZES).get_column(curve.lines).to_list()


def _dodged(start: alt.Chart, rows: pl.DataFrame, barred: list[str], lines: str) -> alt.Chart:
    """With `at`, the place on the axis: the bars of several cases at one size stand beside each other."""
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


def _marks(start: alt.Chart, rows: pl.DataFrame, y: alt.Y) -> list[tuple[alt.Chart, bool]]:
    over = start.transform_filter("datum.oversubscribed")
    across = start.transform_filter("datum.locality === 'across_nodes'")
    hollow = over.mark_point(opacity=1, size=24, filled=True).encode(color=alt.ColorValue(theme.PAPER), y=y)
    ring = across.mark_point(opacity=1, size=220, filled=False).encode(color=alt.ColorValue(theme.MUTED), y=y)
    return [
        (hollow, bool(rows.get_column("oversubscribed").any())),
        (ring, "across_nodes" in distinct(rows, "locality")),
    ]
