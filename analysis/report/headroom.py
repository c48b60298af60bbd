"""Where an axis ends: a little beyond the values, not at the end of an interval, which few repeats make very long."""

from __future__ import annotations

import altair as alt
import polars as pl

HEADROOM = 1.5
"""Of the largest value, for its interval."""
_FOOTROOM = 4.0
"""Of the smallest value, on a logarithmic scale."""


def top(rows: pl.DataFrame, field: str, ideal: float = 0.0) -> float:
    """End of the axis of `field`, whose interval is `<field>_lo` to `<field>_hi`; `ideal` lies within it too."""
    largest = max([ideal, *_values(rows, field)])
    return min(max([largest, *_values(rows, f"{field}_hi")]), HEADROOM * largest)


def bounded(scale: alt.Scale, rows: pl.DataFrame, field: str, ideal: float = 0.0) -> alt.Scale:
    """The scale with that end; on a logarithmic one its begin too."""
    scale.domainMax = top(rows, field, ideal)
    if scale.to_dict().get("type") == "log":
        scale.domainMin = _bottom(rows, field)
    return scale


def cut_note(rows: pl.DataFrame, field: str, ideal: float = 0.0) -> str:
    """What to say beside the chart where an interval is cut."""
    is_cut = max(_values(rows, f"{field}_hi"), default=0.0) > top(rows, field, ideal)
    return "An interval that reaches the edge is longer; the data have its end." if is_cut else ""


def _bottom(rows: pl.DataFrame, field: str) -> float:
    smallest = min(_values(rows, field))
    return max(min([smallest, *_values(rows, f"{field}_lo")]), smallest / _FOOTROOM)


def _values(rows: pl.DataFrame, name: str) -> list[float]:
    return rows.get_column(name).drop_nulls().to_list() if name in rows.columns else []
