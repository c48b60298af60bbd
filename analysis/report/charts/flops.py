"""FLOP/s of a device, with its peak and the rate of a matrix multiplication."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, Chart, base, layered
from analysis.wording.machine import flops_unit


def _draw(rows: pl.DataFrame, _cases: Cases) -> alt.LayerChart:
    most = rows.get_column("flops_per_s").max()
    assert isinstance(most, float)
    factor, unit = flops_unit(most)
    axis = alt.Axis(labelExpr=f"format(datum.value / {factor:.0f}, ',~r')")
    y = alt.Y("label:N", title=None, sort=rows.get_column("label").unique(maintain_order=True).to_list())
    titled: dict[str, Any] = {"title": f"{unit} of a device", "axis": axis, "scale": alt.Scale(zero=True)}
    x = alt.X("flops_per_s:Q", stack=None, **titled)
    bars = base().mark_bar(size=14).encode(x=x, y=y, tooltip=_tooltip())
    marks = (
        base().transform_filter("isValid(datum.reference)").mark_tick(thickness=2, size=20, color=theme.MUTED)
    )
    references = marks.encode(
        x=alt.X("reference:Q", **titled),
        y=y,
        tooltip=[
            alt.Tooltip("reference_name:N", title="mark"),
            alt.Tooltip("reference:Q", title="FLOP/s", format=".4~s"),
        ],
    )
    # Marks without values would leave their axis without an extent.
    layers = [bars, references] if rows.get_column("reference").is_not_null().any() else [bars]
    return layered(*layers, height=50 + 26 * rows.get_column("label").n_unique())


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="case and placement"),
        alt.Tooltip("device_name:N", title="device"),
        alt.Tooltip("precision:N", title="precision"),
        alt.Tooltip("flops_per_s:Q", title="FLOP/s", format=".4~s"),
        alt.Tooltip("flops_per_s_lo:Q", title="from, FLOP/s", format=".4~s"),
        alt.Tooltip("flops_per_s_hi:Q", title="to, FLOP/s", format=".4~s"),
        alt.Tooltip("mfu:Q", title="MFU", format=".1%"),
        alt.Tooltip("matmul_share:Q", title="share of matmul", format=".1%"),
    ]


CHART = Chart(
    order=95,
    question="How much of the hardware is used?",
    reading="FLOP/s of one device: forward and backward pass of the model, without recomputation. Marks: the rate that "
    "the suite matmul reached on such a device, and the device's dense peak; shown if known. CPU peaks are not.",
    draw=_draw,
    section="hardware_use",
)
