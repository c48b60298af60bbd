"""Learning curves of all configurations in one chart, by step, epoch and wall time: losses and accuracy."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

from analysis.report.drawing.chart import (
    Cases,
    Chart,
    Drawing,
    case_colour,
    case_shape,
    coloured,
    distinct,
    few_sizes,
    layered,
    limit_note,
    line_tooltip,
    metric_name,
    sentences,
    size_dash,
)
from analysis.report.drawing.nonfinite import crosses, has_nonfinite, nonfinite_note
from analysis.wording.metric import ACCURACY

HEIGHT = 320
"""CSS pixels, including axes."""
_BY = {
    "step": ("step", "step", "d"),
    "epoch": ("epoch", "epoch", "~g"),
    "wall time": ("time_s", "wall time since the barrier (s)", "~s"),
}
"""Field, title and d3 format of the x axis, by view."""


def _chart(
    *,
    order: int,
    question: str,
    reading: str,
    field: str,
    title: str,
    form: str,
    has_points: bool = True,
    wide: bool = False,
) -> Chart:
    """A line per case and placement, over step, epoch and wall time as far as they are known. `title` is the y axis's,
    `form` the d3 format of the tooltip's numbers. With `has_points`, each value has a mark. `{metric}` in question and
    title is the name that the rows' workloads give their score."""

    def draw(rows: pl.DataFrame, cases: Cases) -> Drawing:
        metric = metric_name(rows)
        named = title.format(metric=metric)
        few = few_sizes(rows)
        tooltip = line_tooltip(
            alt.Tooltip("repeat:Q", title="repeat"),
            alt.Tooltip("step:Q", title="step"),
            alt.Tooltip("epoch:Q", title="epoch", format=".3~f"),
            alt.Tooltip("time_s:Q", title="wall time, s", format=",.4~r"),
            alt.Tooltip(f"{field}:Q", title=named.partition(" (")[0], format=form),
        )
        axis = _percent_axis(few.rows, field) if "%" in form else alt.Axis()
        y = alt.Y(f"{field}:Q", title=named, scale=alt.Scale(zero=False), axis=axis)
        detail = alt.Detail("placement:N")
        views = {}
        for label, (over, name, number) in _BY.items():
            if rows.get_column(over).is_null().all():
                continue
            x = alt.X(f"{over}:Q", title=name, axis=alt.Axis(format=number, tickCount=6))
            start = few.start.encode(x=x, y=y, color=case_colour(few.rows, cases), detail=detail)
            line = start.mark_line(opacity=1).encode(
                strokeDash=size_dash(few.rows), size=_width(few.rows, cases), tooltip=tooltip
            )
            layers = [line]
            if has_points:
                points = start.mark_point(filled=True, size=45, opacity=1)
                layers.append(points.encode(shape=case_shape(few.rows, cases), tooltip=tooltip))
            if has_nonfinite(few.rows, field):
                layers.append(crosses(start, field, tooltip=tooltip))
            views[label] = layered(*layers, height=HEIGHT)
        left_out = limit_note(rows, "case_name", "those that end highest and lowest")
        note = sentences(left_out, few.note, nonfinite_note(rows, field))
        return Drawing(views=views, choice="x axis", note=note, question=question.format(metric=metric))

    usual = question.format(metric=ACCURACY)
    return Chart(order=order, question=usual, reading=reading, draw=draw, wide=wide, section="training")


def _width(rows: pl.DataFrame, cases: Cases) -> alt.Size:
    """Line widths: later cases are thinner and on top of earlier ones, so that lines that coincide stay visible."""
    named = coloured(rows, cases)
    more = min(0.8, 3 / max(len(named) - 1, 1))
    widths = [round(1.4 + more * (len(named) - 1 - place), 1) for place in range(len(named))]
    present = alt.Legend(values=distinct(rows, "case_name"))
    return alt.Size(
        "case_name:O", scale=alt.Scale(type="ordinal", domain=named, range=widths), legend=present
    )


def _percent_axis(rows: pl.DataFrame, field: str) -> alt.Axis:
    """An axis in percent, with enough decimals to distinguish neighbouring ticks."""
    values: list[float] = rows.get_column(field).drop_nulls().to_list()
    spread_pct = 100 * (max(values, default=0) - min(values, default=0))
    decimals = 1 if spread_pct <= 0 else min(4, max(0, math.ceil(-math.log10(spread_pct / 6))))
    return alt.Axis(format=f".{decimals}%")


CHARTS = {
    "training_loss": _chart(
        order=72,
        question="How fast does the training loss fall?",
        reading="Mean over ranks, no unit; first ok repeat of each placement, including warm-up, which trains too. "
        "Earlier cases have thicker lines, so that lines that coincide are visible. Beyond 150 steps: means of 100 "
        "bins. Wall time: from the ranks' common barrier to the end of the step, including validation.",
        field="loss",
        title="training loss",
        form=".5~r",
        has_points=False,
        wide=True,
    ),
    "validation_accuracy": _chart(
        order=74,
        question="How fast does the validation {metric} rise?",
        reading="A point per validation, first ok repeat of each placement. Wall time: to the end of the last step "
        "before the validation.",
        field="val_accuracy",
        title="validation {metric} (%)",
        form=".2%",
    ),
    "validation_loss": _chart(
        order=76,
        question="How fast does the validation loss fall?",
        reading="No unit; a point per validation, first ok repeat of each placement. Wall time: to the end of the "
        "last step before the validation.",
        field="val_loss",
        title="validation loss",
        form=".5~r",
    ),
}
