"""Charts of collective operations: a view per operation, a line per placement, over message size."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.chart import Drawing, distinct, few_sizes, sentences, size_colour
from analysis.report.headroom import cut_note
from analysis.report.sizes import Result, size_axis, size_lines


def exchange(rows: pl.DataFrame, result: Result) -> Drawing:
    few = few_sizes(rows)
    x = size_axis(rows, "message_bytes", "message size", in_bytes=True)
    looks = {"color": size_colour(few.rows)}
    views = {}
    for op in distinct(few.rows, "op"):
        start = few.start.transform_filter(alt.FieldEqualPredicate(field="op", equal=op))
        views[op] = size_lines(start, few.rows.filter(pl.col("op") == op), x, result, looks)
    note = sentences(few.note, cut_note(few.rows, result.field))
    return Drawing(views=views, choice="operation", note=note)


def tooltip(*values: alt.Tooltip) -> list[alt.Tooltip]:
    """What every point says first."""
    return [
        alt.Tooltip("placement:N", title="placement"),
        alt.Tooltip("message_bytes:Q", title="message, bytes", format=","),
        alt.Tooltip("repeats:Q", title="repeats"),
        *values,
        alt.Tooltip("oversubscribed:N", title="oversubscribed"),
    ]
