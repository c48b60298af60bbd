"""A result over workers: a colour for each session, a panel for each case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from analysis.report import theme
from analysis.report.chart import Cases, Chart, Drawing, base, distinct, layered, panels, sentences
from analysis.report.compare.panel import HEIGHT, note, tooltip
from analysis.report.curves import Curve, curves, is_wide, result_axis, result_scale, workers_axis
from analysis.report.headroom import bounded, cut_note


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What is drawn over workers."""

    field: str
    title: str
    """Of the y axis, with the unit."""
    form: str
    """Of the tooltip's numbers, for d3."""
    unit: str = ""
    """Of the tooltip's numbers."""
    labels: str = "~f"
    """Of the axis, for d3."""
    ideal: str | None = None
    """The field or number that ideal scaling reaches."""


def over_workers(measure: Measure) -> Chart:
    def draw(rows: pl.DataFrame, names: Cases) -> Drawing:
        rows = _with_interval(rows, measure.field)
        curve = Curve(
            field=measure.field,
            y=_axis(rows, measure),
            title=measure.title,
            tooltip=_values(measure),
            lines="session",
        )
        layers = [*_ideal(rows, measure, curve.y), *curves(rows, names, curve)]
        view = panels(layered(*layers), "panel", rows, HEIGHT)
        return Drawing(
            views={"": view},
            note=sentences(cut_note(rows, measure.field, _ideal_top(rows, measure)), note(rows)),
        )

    reading = "Bars and bands: 95 % intervals over repeats; none where there is one repeat."
    return Chart(
        order=0,
        question=f"How does {measure.field} compare?",
        reading=f"Dashed: ideal. {reading}" if measure.ideal else reading,
        draw=draw,
        wide=True,
    )


def _axis(rows: pl.DataFrame, measure: Measure) -> alt.Y:
    """Up to the largest value and a little: an interval of few repeats can be ten times as long."""
    scale = alt.Scale(zero=True) if measure.field == "efficiency" else result_scale(rows)
    scale = bounded(scale, rows, measure.field, _ideal_top(rows, measure))
    if measure.field != "speedup" or not is_wide(rows):
        return alt.Y(
            f"{measure.field}:Q",
            title=measure.title,
            scale=scale,
            axis=alt.Axis(format=measure.labels, tickCount=4),
        )
    return alt.Y(f"{measure.field}:Q", title=measure.title, scale=scale, axis=result_axis(rows))


def _ideal_top(rows: pl.DataFrame, measure: Measure) -> float:
    if measure.ideal is None:
        return 0.0
    return (
        float(max(distinct(rows, measure.ideal))) if measure.ideal in rows.columns else float(measure.ideal)
    )


def _values(measure: Measure) -> list[alt.Tooltip]:
    named = {"": measure.field, "_lo": "from", "_hi": "to"}
    unit = f", {measure.unit}" if measure.unit else ""
    return tooltip(
        alt.Tooltip("placement:N", title="placement"),
        alt.Tooltip("repeats:Q", title="repeats"),
        *(
            alt.Tooltip(f"{measure.field}{end}:Q", title=f"{said}{unit}", format=measure.form)
            for end, said in named.items()
        ),
    )


def _with_interval(rows: pl.DataFrame, field: str) -> pl.DataFrame:
    """The columns of the interval are there even where no session has any."""
    missing = [f"{field}_{end}" for end in ("lo", "hi") if f"{field}_{end}" not in rows.columns]
    return rows.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in missing)


def _ideal(rows: pl.DataFrame, measure: Measure, y: alt.Y) -> list[alt.Chart]:
    dashed: dict[str, Any] = {"color": theme.MUTED, "strokeDash": [5, 4], "strokeWidth": 1.5}
    if measure.ideal is None:
        return []
    if measure.ideal not in rows.columns:
        return [base().mark_rule(**dashed).encode(y=alt.datum(float(measure.ideal)))]
    same_axis = alt.Y(f"{measure.ideal}:Q", title=measure.title, scale=y["scale"], axis=y["axis"])
    return [base().mark_line(**dashed).encode(x=workers_axis(rows), y=same_axis)]
