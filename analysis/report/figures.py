"""A chart in a page: its question, the drawing, its data as a table, its SQL."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

import polars as pl

from analysis.report import embedding, frames
from analysis.report.chart import Cases, Chart, Drawing, drawing, specification
from analysis.report.charts import all_charts
from analysis.report.contents import Contents
from analysis.report.legend import legend, without_legends
from analysis.report.markup import attribute, details, text

PANEL_MARGIN = 74
"""CSS pixels that a panel takes beside its drawing, in height: its heading above, its axis below."""


def figures(contents: Contents) -> str:
    """Every chart of the section of charts in its order; one without rows says so in a sentence of the list that
    follows."""
    charts = _charts_of("")
    return _drawn(charts, contents) + _absent(charts, contents)


def figures_of(section: str, contents: Contents) -> str:
    """The charts that stand in another section; nothing where they have no rows."""
    return _drawn(_charts_of(section), contents)


def _charts_of(section: str) -> dict[str, Chart]:
    return {name: chart for name, chart in all_charts().items() if chart.section == section}


def _drawn(charts: dict[str, Chart], contents: Contents) -> str:
    session_id = contents.session["session_id"]
    drawn = "".join(
        figure(
            name,
            chart,
            contents.charts[name],
            contents.cases,
            frames.pasteable(name, session_id),
            origin=f"session {session_id}",
        )
        for name, chart in charts.items()
        if not contents.charts[name].is_empty()
    )
    return f'<div class="charts">{drawn}</div>' if drawn else ""


def _absent(charts: dict[str, Chart], contents: Contents) -> str:
    if contents.session["imported"] is not None and not contents.is_of_a_machine:
        return '<p class="empty">Charts of steps, memory and sensors need runs that were measured here.</p>'
    missing = [
        chart.question
        for name, chart in charts.items()
        if contents.charts[name].is_empty() and not chart.machine
    ]
    if not missing or contents.is_of_a_machine:
        return ""
    questions = " · ".join(html.escape(question) for question in missing)
    return f'<p class="empty">No run of this session has rows for: {questions}</p>'


def figure(name: str, chart: Chart, rows: pl.DataFrame, cases: Cases, sql: str, *, origin: str = "") -> str:
    """HTML of one chart; `name` is its identifier on the page, `rows` are not empty, `sql` asks for them again,
    `origin` says whose rows they are."""
    drawn = drawing(chart, rows, cases)
    specs = [specification(view) for view in drawn.views.values()]
    count = f"{rows.height:,} {'row' if rows.height == 1 else 'rows'}"
    label = attribute(f"Chart: {chart.question} {chart.reading} The data are in the table that follows.")
    payload = {"views": without_legends(specs), "columns": embedding.columns(rows), "count": rows.height}
    return (
        f'<figure class="chart{" wide" if chart.wide else ""}" id="{attribute(name)}" aria-labelledby="{name}-title">'
        f'<h3 id="{name}-title">{html.escape(chart.question)}</h3>'
        f'<p class="reading">{html.escape(f"{chart.reading} {drawn.note}".strip())}</p>'
        f"{_choice(name, drawn)}{legend(specs[0])}"
        f'<div class="plot{" panels" if "facet" in specs[0] else ""}" role="img" aria-label="{label}">'
        f"{_space(specs[0], rows)}</div>"
        f'<div class="more">{"".join(_more(chart.question, count, sql, origin))}</div>'
        f'<script type="application/json">{embedding.script_json(payload)}</script></figure>'
    )


def _choice(name: str, drawn: Drawing) -> str:
    """Radio buttons, one for each view."""
    if len(drawn.views) < 2:
        return ""
    options = "".join(
        f'<label><input type="radio" name="{attribute(name)}-view" value="{place}"{" checked" if place == 0 else ""}> '
        f"{html.escape(label)}</label>"
        for place, label in enumerate(drawn.views)
    )
    return f'<fieldset class="choice screen-only"><legend>{html.escape(drawn.choice)}</legend>{options}</fieldset>'


def _space(spec: dict[str, Any], rows: pl.DataFrame) -> str:
    """The place of the drawing, or of each of its panels, taken before anything is drawn. An SVG element has a height
    without an inline style, which the page's policy forbids."""
    if "facet" not in spec:
        return f'<svg height="{spec["height"]}" aria-hidden="true"></svg>'
    panels = rows.get_column(spec["facet"]["field"]).n_unique()
    return panels * f'<svg height="{spec["spec"]["height"] + PANEL_MARGIN}" aria-hidden="true"></svg>'


def _more(question: str, count: str, sql: str, origin: str) -> Iterator[str]:
    label = attribute(f"Data: {question}")
    table = f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"></div>'
    yield details(f"Data, {count}", table, "data")
    yield details("SQL", f'<pre tabindex="0"><code>{html.escape(sql)}</code></pre>', "sql")
    if origin:
        yield f'<p class="origin">{text(origin)}</p>'
