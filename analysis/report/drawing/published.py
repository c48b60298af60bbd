"""A session's results over workers in colour, with those of published curves in grey."""

from __future__ import annotations

import altair as alt
import polars as pl

from analysis.report.drawing import theme
from analysis.report.drawing.chart import Cases, Drawing, base, distinct, layered, sentences
from analysis.report.drawing.curves import HEIGHT, workers_axis

_CURVES = 6
"""Most published curves; the query chooses them."""


def published_drawing(
    rows: pl.DataFrame, cases: Cases, y: alt.Y, field: str, unit: str, *under: alt.Chart
) -> Drawing:
    """`rows` have `is_published`, the line's name in `case_name`, and `field` with its interval; `unit` follows the
    field's name in a tooltip. `under` are layers below the curves."""
    own = distinct(rows.filter(~pl.col("is_published")), "case_name")
    shown = own[: theme.CATEGORIES]
    references = distinct(rows.filter(pl.col("is_published")), "case_name")
    lines = [*shown, *references]
    coloured = cases if len(cases) <= theme.CATEGORIES else shown
    colour_of = dict(zip(coloured, theme.categories(len(coloured)), strict=True))
    legend = alt.Legend(values=lines)
    colour = alt.Color(
        "case_name:N",
        scale=alt.Scale(domain=lines, range=[colour_of.get(name, theme.GREY) for name in lines]),
        title=None,
        legend=legend,
    )
    shape = alt.Shape(
        "case_name:N",
        scale=alt.Scale(domain=lines, range=theme.shapes(len(lines))),
        title=None,
        legend=legend,
    )
    x = workers_axis(rows.with_columns(axis=pl.lit("ranks")))
    start = base().transform_filter(alt.FieldOneOfPredicate(field="case_name", oneOf=lines)).encode(x=x)
    tooltip = [
        alt.Tooltip("case_name:N", title="curve"),
        alt.Tooltip("title:N", title="published"),
        alt.Tooltip("workers:Q", title="ranks"),
        alt.Tooltip(f"{field}:Q", title=f"{field}{unit}", format=".1%" if field == "efficiency" else ",.4~r"),
    ]
    layers = [*under]
    for is_published in ("datum.is_published", "!datum.is_published"):  # the session's own are on top
        part = start.transform_filter(is_published)
        layers.append(part.mark_line(clip=True).encode(color=colour, y=y))
        points = part.mark_point(size=70, filled=True, opacity=1)
        layers.append(points.encode(color=colour, shape=shape, y=y, tooltip=tooltip))
    interval = part.mark_rule(strokeWidth=1.5, clip=True)
    layers.append(interval.encode(color=colour, y=alt.Y(f"{field}_lo:Q"), y2=alt.Y2(f"{field}_hi:Q")))
    return Drawing(views={"": layered(*layers, height=HEIGHT)}, note=sentences(*_notes(rows, own, shown)))


def _notes(rows: pl.DataFrame, own: list[str], shown: list[str]) -> list[str]:
    notes = []
    if len(own) > len(shown):
        notes.append(f"Drawn: the first {len(shown)} of {len(own):,} cases of this session.")
    curves = rows.get_column("curves").max() if "curves" in rows.columns else None
    if isinstance(curves, int) and curves > _CURVES:
        notes.append(
            f"Drawn: {_CURVES} of {curves} published curves, those without a difference first, then one of each source."
        )
    return notes
