"""Losses that are not finite: null in the rows of a chart, a cross at its upper edge."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

_NAMED = 6
"""Runs that a note names; it counts the others."""


def crosses(start: alt.Chart, field: str, **encodings: Any) -> alt.Chart:
    """A cross wherever the field is null."""
    only = start.transform_filter(alt.FieldValidPredicate(field=field, valid=False))
    mark = only.mark_point(shape="cross", angle=45, filled=True, size=110, opacity=1, clip=False)
    marked: alt.Chart = mark.encode(y=alt.value(8), **encodings)
    return marked


def has_nonfinite(rows: pl.DataFrame, field: str) -> bool:
    return rows.get_column(field).null_count() > 0


def nonfinite_note(rows: pl.DataFrame, field: str) -> str:
    """A note that names the runs and their first such steps; empty if all losses are finite."""
    first = (
        rows.filter(pl.col(field).is_null())
        .group_by("case_name", "placement", maintain_order=True)
        .agg(pl.col("step").min())
    )
    if first.is_empty():
        return ""
    named = [f"{name} {placement} at step {step:,}" for name, placement, step in first.head(_NAMED).rows()]
    more = [f"{first.height - _NAMED:,} more"] if first.height > _NAMED else []
    return f"Crosses: a loss that is not finite (NaN or infinite), first of {', '.join(named + more)}."
