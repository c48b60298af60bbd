"""A chart in a page: its question, the drawing, its data as a table, its SQL."""

from __future__ import annotations

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


def figures(contents: Contents, section: str = "") -> Markup:
    """The charts of a section [default: the section of charts, where a sentence lists those without rows]."""
    session = contents.session
    charts = {name: chart for name, chart in all_charts().items() if chart.section == section}
    drawn = [
        figure(
            name,
            chart,
            contents.charts[name],
            contents.cases,
            named_queries.pasteable(name, session["session_id"]),
            origin=f"session {session['session_id']}",
        )
        for name, chart in charts.items()
        if not contents.charts[name].is_empty()
    ]
    missing = ""
    if not section and not contents.is_of_a_machine:
        questions = [
            chart.question
            for name, chart in charts.items()
            if contents.charts[name].is_empty() and not chart.machine
        ]
        if session["imported"] is not None:
            missing = "Charts of steps, memory and sensors need runs that were measured here."
        elif questions:
            missing = f"No run of this session has rows for: {' · '.join(questions)}"
    return render("sections/charts", figures=drawn, missing=missing)


def figure(
    name: str, chart: Chart, rows: pl.DataFrame, cases: Cases, sql: str, *, origin: str = ""
) -> Markup:
    """One chart. `name` is its identifier on the page, `rows` must not be empty, `sql` returns them, and `origin` says
    which session they are from."""
    drawn = drawing(chart, rows, cases)
    specs = [specification(view) for view in drawn.views.values()]
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
        legend=legend(first),
        is_faceted="facet" in first,
        heights=heights,
        count=f"{rows.height:,} {'row' if rows.height == 1 else 'rows'}",
        sql=sql,
        origin=origin,
        payload=embedding.script_json(payload),
    )
