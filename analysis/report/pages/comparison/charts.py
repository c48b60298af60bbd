"""The charts of a comparison: all sessions in one chart, a colour for each session and a panel for each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl
from markupsafe import Markup

from analysis.report import named_queries
from analysis.report.drawing import theme
from analysis.report.drawing.chart import (
    Cases,
    Chart,
    Drawing,
    base,
    case_colour,
    distinct,
    layered,
    metric_name,
    panels,
    sentences,
)
from analysis.report.drawing.curves import (
    Curve,
    bounded,
    curves,
    cut_note,
    is_wide,
    result_axis,
    result_scale,
    workers_axis,
)
from analysis.report.drawing.figure import figure
from analysis.report.drawing.nonfinite import crosses, has_nonfinite, nonfinite_note
from analysis.report.html.render import render
from analysis.report.pages.comparison.data import ComparedSessions

HEIGHT = 170
"""CSS pixels of a panel's drawing."""
MOST_PANELS = 12
"""The most cases that are drawn; if there are more, those with the largest differences."""


def figures(comparison: ComparedSessions) -> Markup:
    """The charts; empty if no case has ok runs in several sessions."""
    names = [one.name for one in comparison.sessions]
    session_ids = [one.session_id for one in comparison.sessions]
    drawn = [
        figure(
            kind.name,
            kind.chart,
            rows,
            names,
            named_queries.pasteable(kind.query, session_ids=session_ids),
            origin=f"sessions {', '.join(session_ids)}",
        )
        for kind in _KINDS
        if not (rows := _rows(comparison, kind)).is_empty()
    ]
    return render("sections/charts", figures=drawn, missing="") if drawn else Markup()


@dataclass(frozen=True, kw_only=True)
class _Panel:
    name: str
    query: str
    value: str
    chart: Chart


def _rows(comparison: ComparedSessions, kind: _Panel) -> pl.DataFrame:
    """The rows of the cases that are drawn, if several sessions have the value; `panel_count` counts all cases."""
    rows = comparison.curves if kind.query == "compare_curves" else comparison.learning
    is_drawn = pl.col(kind.value).is_not_null()
    rows = rows.filter(is_drawn | pl.col("nonfinite") if kind.value == "loss" else is_drawn)
    in_common = (
        rows.group_by("panel").agg(pl.col("session").n_unique() > 1).filter("session").get_column("panel")
    )
    rows = rows.filter(pl.col("panel").is_in(in_common.to_list()))
    kept = _shown(distinct(rows, "panel"), comparison)
    rows = rows.with_columns(pl.col("panel").n_unique().alias("panel_count")).filter(
        pl.col("panel").is_in(kept)
    )
    order = pl.col("panel").replace_strict({panel: place for place, panel in enumerate(kept)}, default=None)
    empty = [name for name in rows.columns if rows.get_column(name).null_count() == rows.height]
    return rows.sort(order, maintain_order=True).drop([name for name in empty if name != kind.value])


def _shown(names: Sequence[str], comparison: ComparedSessions) -> list[str]:
    """Panels in the order of the suites; if there are too many, those whose ratio is furthest from 1. A panel's name is
    its case, or its case and placement."""
    cases = list(dict.fromkeys(case for one in comparison.sessions for case in one.cases))
    places = {case: place for place, case in enumerate(cases)}
    largest = _largest_ratios(comparison)

    def case_of(panel: str) -> str:
        return panel if panel in places else panel.rpartition(" ")[0]

    ordered = sorted(names, key=lambda panel: places.get(case_of(panel), len(places)))
    most = sorted(ordered, key=lambda panel: -largest.get(case_of(panel), -1.0))[:MOST_PANELS]
    return [panel for panel in ordered if panel in most]


def _largest_ratios(comparison: ComparedSessions) -> Mapping[str, float]:
    """Case -> largest |ln ratio|."""
    rows = pl.concat(
        [frame.select("case_name", pl.col("ratio").cast(pl.Float64)) for frame in comparison.ratios]
    )
    largest = rows.drop_nulls().group_by("case_name").agg(pl.col("ratio").log().abs().max())
    return dict(largest.iter_rows())


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A result over workers."""

    field: str
    title: str
    """Title of the y axis, with the unit."""
    form: str
    """d3 format of the tooltip's numbers."""
    unit: str = ""
    """Unit of the tooltip's numbers."""
    labels: str = "~f"
    """d3 format of the axis."""
    ideal: str | None = None
    """A field or number: the result at ideal scaling."""


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
            note=sentences(cut_note(rows, measure.field, _ideal_top(rows, measure)), _note(rows)),
        )

    reading = "Bars and bands: 95 % intervals over repeats; none if repeats are too few."
    return Chart(
        order=0,
        question=f"How does {measure.field} compare?",
        reading=f"Dashed: ideal. {reading}" if measure.ideal else reading,
        draw=draw,
        wide=True,
    )


def _axis(rows: pl.DataFrame, measure: Measure) -> alt.Y:
    """The y axis. It ends a little beyond the largest value: with few repeats, intervals can be ten times as long."""
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
    return _tooltip(
        alt.Tooltip("placement:N", title="placement"),
        alt.Tooltip("repeats:Q", title="repeats"),
        *(
            alt.Tooltip(f"{measure.field}{end}:Q", title=f"{said}{unit}", format=measure.form)
            for end, said in named.items()
        ),
    )


def _with_interval(rows: pl.DataFrame, field: str) -> pl.DataFrame:
    """The rows with the interval's columns, even if no session has an interval."""
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


def over_steps(field: str, title: str, question: str, reading: str, axis: alt.Axis) -> Chart:
    def draw(rows: pl.DataFrame, names: Cases) -> Drawing:
        named = title.format(metric=metric_name(rows))
        start = base().encode(
            x=alt.X(
                "step:Q", title="step", scale=alt.Scale(zero=True), axis=alt.Axis(format="d", tickCount=4)
            ),
            y=alt.Y(f"{field}:Q", title=named, scale=alt.Scale(zero=False), axis=axis),
            color=case_colour(rows, names, "session"),
            tooltip=_tooltip(
                alt.Tooltip("repeat:Q", title="repeat"),
                alt.Tooltip("step:Q", title="step"),
                alt.Tooltip(f"{field}:Q", title=named, format=".5~r"),
            ),
        )
        layers = [start.mark_line()]
        if field == "val_accuracy":  # often measured once, and a line needs two points
            layers.append(start.mark_point(size=60, filled=True, opacity=1))
        if has_nonfinite(rows, field):
            layers.append(crosses(start, field))
        said = " ".join(filter(None, [_note(rows), _nonfinite(rows, field)]))
        return Drawing(views={"": panels(layered(*layers), "panel", rows, HEIGHT)}, note=said)

    return Chart(order=0, question=question, reading=reading, draw=draw, wide=True)


def _nonfinite(rows: pl.DataFrame, field: str) -> str:
    """A note that names a curve by its session and its panel."""
    return nonfinite_note(rows.select("step", field, case_name="session", placement="panel"), field)


def _note(rows: pl.DataFrame) -> str:
    """A note if panels were left out."""
    kept, count = rows.get_column("panel").n_unique(), rows.get_column("panel_count")[0]
    if kept == count:
        return ""
    return f"Drawn: the {kept} of {count:,} cases whose throughput differs most; the table of ratios has all."


def _tooltip(*values: alt.Tooltip) -> list[alt.Tooltip]:
    return [alt.Tooltip("session_id:N", title="session"), alt.Tooltip("panel:N", title="case"), *values]


_CHOSEN = "For each case, the first ok repeat of the largest placement that most sessions have."

_MEASURES = [
    Measure(field="throughput", title="examples/s", form=",.4~r", unit="examples/s", labels=",~f"),
    Measure(field="speedup", title="speedup (×)", form=".3~f", unit="×", ideal="workers"),
    Measure(field="efficiency", title="efficiency (%)", form=".1%", labels=".0%", ideal="1"),
]
_KINDS = [
    *(
        _Panel(name=measure.field, query="compare_curves", value=measure.field, chart=over_workers(measure))
        for measure in _MEASURES
    ),
    _Panel(
        name="training_loss",
        query="compare_learning",
        value="loss",
        chart=over_steps(
            "loss",
            "training loss",
            "Does the training loss fall in the same way?",
            f"{_CHOSEN} Loss, no unit: mean over ranks, warm-up included; beyond 150 steps means of 100 bins.",
            alt.Axis(tickCount=4),
        ),
    ),
    _Panel(
        name="validation_accuracy",
        query="compare_learning",
        value="val_accuracy",
        chart=over_steps(
            "val_accuracy",
            "validation {metric} (%)",
            "Does validation score as high?",
            f"{_CHOSEN} One point per validation.",
            alt.Axis(tickCount=4, format=".0%"),
        ),
    ),
]
