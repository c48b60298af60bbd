"""FLOP/s of matrix multiplications over their size, for every precision."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import Cases, Chart, Drawing, distinct, few_sizes, sentences, size_dash
from analysis.report.headroom import cut_note
from analysis.report.sizes import Looks, Result, size_axis, size_lines

_UNITS = ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"))


def _draw(rows: pl.DataFrame, _cases: Cases) -> Drawing:
    few = few_sizes(rows)
    most = max(distinct(few.rows, "flops_per_s"))
    factor, unit = next((one for one in _UNITS if most >= one[0]), _UNITS[-1])
    axis = alt.Axis(labelExpr=f"format(datum.value / {factor:.0f}, ',~r')")
    result = Result(field="flops_per_s", title=f"{unit} of a rank", tooltip=_tooltip(), axis=axis)
    x = size_axis(few.rows, "size", "matrix size, ∛(m n k)")
    view = size_lines(few.start, few.rows, x, result, _looks(few.rows))
    return Drawing(views={"": view}, note=sentences(few.note, cut_note(few.rows, "flops_per_s")))


def _looks(rows: pl.DataFrame) -> Looks:
    precisions = distinct(rows.sort("precision"), "precision")
    scale = alt.Scale(domain=precisions, range=theme.categories(len(precisions)))
    return {
        "color": alt.Color("precision:N", scale=scale, title="precision"),
        "strokeDash": size_dash(rows),
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
    reading="An m × k matrix times a k × n one takes 2 m n k operations. What a rank reaches at the best size is the "
    "most that a training can get out of its device here, whatever the data sheet says. Geometric mean over repeats, "
    "bars: 95 % intervals.",
    draw=_draw,
    machine=True,
)
