"""A chart in a page: its question, the drawing, its data as a table, its SQL."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl
from markupsafe import Markup

from analysis.report import named_queries
from analysis.report.charts import all_charts
from analysis.report.drawing.chart import Cases, Chart, drawing, specification
from analysis.report.drawing.legend import legend, without_legends
from analysis.report.html import embedding
from analysis.report.html.render import render
from analysis.report.pages.session_data import Contents

PANEL_MARGIN = 74
"""CSS pixels that a panel is higher than its drawing: the heading above, the axis below."""


def figures(contents: Contents, section: str, *, without: Collection[str] = ()) -> Markup:
    """The charts of a section; empty without rows. If it shows some of its charts, a sentence lists the others.
    `without` names charts that another place of the page shows."""
    charts = {
        name: chart
        for name, chart in all_charts().items()
        if chart.section == section and name not in without
    }
    drawn = [named_figure(contents, name) for name in charts if not contents.charts[name].is_empty()]
    if not drawn:
        return Markup()
    missing = []
    if not contents.is_of_a_machine:
        missing = [chart.question for name, chart in charts.items() if contents.charts[name].is_empty()]
    return render("sections/charts", figures=drawn, missing=missing)


def named_figure(contents: Contents, name: str, *, height: int | None = None) -> Markup:
    """One of a session's charts, which must have rows. `height` in CSS pixels [default: the chart's own]."""
    session_id = contents.session["session_id"]
    sql = named_queries.pasteable(name, session_id)
    chart, rows = all_charts()[name], contents.charts[name]
    return figure(name, chart, rows, contents.cases, sql, origin=f"session {session_id}", height=height)


def figure(
    name: str,
    chart: Chart,
    rows: pl.DataFrame,
    cases: Cases,
    sql: str,
    *,
    origin: str = "",
    height: int | None = None,
) -> Markup:
    """One chart. `name` is its identifier on the page, `rows` must not be empty, `sql` returns them, and `origin` says
    which session they are from."""
    drawn = drawing(chart, rows, cases)
    specs = [specification(view) for view in drawn.views.values()]
    if height is not None:
        specs = [spec | {"height": height} for spec in specs]
    first = specs[0]
    if "facet" in first:
        panels = rows.get_column(first["facet"]["field"]).n_unique()
        heights = panels * [first["spec"]["height"] + PANEL_MARGIN]
    else:
        heights = [first["height"]]
    payload = {"views": without_legends(specs), "columns": embedding.columns(rows), "count": rows.height}
    return render(
        "sections/figure",
        name=name,
        question=drawn.question or chart.question,
        reading=chart.reading,
        note=drawn.note,
        wide=chart.wide,
        views=list(drawn.views),
        choice=drawn.choice,
        legend="" if drawn.is_labelled else legend(first),
        is_faceted="facet" in first,
        heights=heights,
        count=f"{rows.height:,} {'row' if rows.height == 1 else 'rows'}",
        sql=sql,
        origin=origin,
        payload=embedding.packed_json(payload),
    )
