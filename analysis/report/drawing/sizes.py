"""Results over message sizes or shapes: lines with their 95 % intervals, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from analysis.report.drawing.chart import distinct, layered
from analysis.report.drawing.curves import bounded

HEIGHT = 340
"""CSS pixels of these charts, including axes."""
_MOST_TICKS = 8
_BINARY = (
    "datum.value < 1024 ? datum.value + ' B' : datum.value < 1048576 ? datum.value / 1024 + ' KiB' : "
    "datum.value < 1073741824 ? datum.value / 1048576 + ' MiB' : datum.value / 1073741824 + ' GiB'"
)

Looks = Mapping[str, alt.Color | alt.StrokeDash]
"""Channel -> the encoding that distinguishes the lines."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """A quantity over sizes; `<field>_lo` to `<field>_hi` is its interval."""

    field: str
    title: str
    """Title of the y axis, with the unit."""
    tooltip: Sequence[alt.Tooltip]
    axis: alt.Axis
    is_log: bool = False

    def y(self, rows: pl.DataFrame) -> alt.Y:
        scale = alt.Scale(type="log") if self.is_log else alt.Scale(zero=True)
        return alt.Y(
            f"{self.field}:Q", title=self.title, axis=self.axis, scale=bounded(scale, rows, self.field)
        )


def size_axis(rows: pl.DataFrame, field: str, title: str, *, in_bytes: bool = False) -> alt.X:
    """An axis that is logarithmic to base 2. Every size has a tick; if there are many, every second, third ..."""
    found = sorted(distinct(rows, field))
    ticks = found[:: -(-len(found) // _MOST_TICKS)]
    axis = alt.Axis(values=ticks, grid=True, labelExpr=_BINARY if in_bytes else "format(datum.value, ',.0f')")
    return alt.X(
        f"{field}:Q", title=title, scale=alt.Scale(type="log", base=2, nice=False, padding=8), axis=axis
    )


def size_lines(
    start: alt.Chart, rows: pl.DataFrame, x: alt.X, result: Result, looks: Looks
) -> alt.LayerChart:
    """Intervals, lines and points. `rows` are those that `start` draws."""
    y = result.y(rows)
    colour = {name: look for name, look in looks.items() if name == "color"}
    points = start.mark_point(size=36, filled=True, opacity=1)
    layers = [
        start.mark_line(clip=True).encode(x=x, y=y, **looks),
        points.encode(x=x, y=y, tooltip=list(result.tooltip), **colour),
    ]
    if rows.get_column(f"{result.field}_lo").is_not_null().any():
        low, high = alt.Y(f"{result.field}_lo:Q", title=result.title), alt.Y2(f"{result.field}_hi:Q")
        layers.insert(0, start.mark_rule(strokeWidth=1.5, clip=True).encode(x=x, y=low, y2=high, **colour))
    return layered(*layers, height=HEIGHT)
