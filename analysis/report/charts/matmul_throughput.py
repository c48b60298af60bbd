"""FLOP/s of matrix multiplications over their size, for every precision."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, Chart, Drawing, distinct, few_sizes, sentences, size_colour
from analysis.report.drawing.curves import cut_note
from analysis.report.drawing.sizes import Looks, Result, size_axis, size_lines
from analysis.wording.machine import flops_unit


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    few = few_sizes(rows)
    factor, unit = flops_unit(max(distinct(few.rows, "flops_per_s")))
    axis = alt.Axis(labelExpr=f"format(datum.value / {factor:.0f}, ',~r')")
    result = Result(field="flops_per_s", title=f"{unit} of a rank", tooltip=_tooltip(), axis=axis)
    x = size_axis(few.rows, "size", "matrix size, ∛(m n k)")
    view = size_lines(few.start, few.rows, x, result, _looks(few.rows))
    return Drawing(views={"": view}, note=sentences(few.note, cut_note(few.rows, "flops_per_s")))


def _looks(rows: pl.DataFrame) -> Looks:
    precisions = distinct(rows.sort("precision"), "precision")
    scale = alt.Scale(domain=precisions, range=theme.dashes(len(precisions))[::-1])
    return {
        "color": size_colour(rows),
        "strokeDash": alt.StrokeDash("precision:N", scale=scale, title="precision"),
    }


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("placement:N", title="placement"),
        alt.Tooltip("device_name:N", title="device"),
        alt.Tooltip("threads:Q", title="threads per rank"),
        alt.Tooltip("precision:N", title="precision"),
        *(alt.Tooltip(f"{name}:Q", title=name, format=",") for name in "mnk"),
        alt.Tooltip("repeats:Q", title="repeats"),
        alt.Tooltip("flops_per_s:Q", title="FLOP/s", format=".4~s"),
        alt.Tooltip("flops_per_s_lo:Q", title="from, FLOP/s", format=".4~s"),
        alt.Tooltip("flops_per_s_hi:Q", title="to, FLOP/s", format=".4~s"),
        alt.Tooltip("oversubscribed:N", title="oversubscribed"),
    ]


CHART = Chart(
    order=6,
    question="How fast does it multiply?",
    reading="An m × k matrix times a k × n one takes 2 m n k operations. The rate at the best size is the highest "
    "that training can reach on this device, even if the data sheet promises more. Geometric mean over repeats, "
    "bars: 95 % intervals.",
    draw=_draw,
    section="machine",
)
