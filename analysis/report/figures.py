"""A chart in a page: its question, the drawing, its data as a table, its SQL."""

from __future__ import annotations

import html
from collections.abc import Iterator

import polars as pl

from analysis.report import embedding, frames
from analysis.report.chart import Cases, Chart, specification
from analysis.report.charts import all_charts
from analysis.report.contents import Contents
from analysis.report.markup import attribute, details


def figures(contents: Contents) -> str:
    """Every chart in its order; one without rows says so in a sentence of the list that follows."""
    charts = all_charts()
    drawn = "".join(
        _figure(name, chart, contents)
        for name, chart in charts.items()
        if not contents.charts[name].is_empty()
    )
    return (f'<div class="charts">{drawn}</div>' if drawn else "") + _absent(charts, contents)


def _absent(charts: dict[str, Chart], contents: Contents) -> str:
    missing = [chart.question for name, chart in charts.items() if contents.charts[name].is_empty()]
    if not missing:
        return ""
    questions = " · ".join(html.escape(question) for question in missing)
    return f'<p class="empty">No run of this session has rows for: {questions}</p>'


def _figure(name: str, chart: Chart, contents: Contents) -> str:
    rows, session_id = contents.charts[name], contents.session["session_id"]
    count = f"{rows.height:,} {'row' if rows.height == 1 else 'rows'}"
    label = attribute(f"Chart: {chart.question} {chart.reading} The data are in the table that follows.")
    return (
        f'<figure class="chart{" wide" if chart.wide else ""}" id="{attribute(name)}" aria-labelledby="{name}-title">'
        f'<h3 id="{name}-title">{html.escape(chart.question)}</h3>'
        f'<p class="reading">{html.escape(chart.reading)}</p>'
        f'<div class="plot" role="img" aria-label="{label}"></div>'
        f'<div class="more">{"".join(_more(name, count, session_id))}</div>'
        f'<script type="application/json">{_payload(chart, rows, contents.cases)}</script></figure>'
    )


def _more(name: str, count: str, session_id: str) -> Iterator[str]:
    yield details(f"Data, {count}", '<div class="scroll" tabindex="0"></div>', "data")
    sql = html.escape(frames.pasteable(name, session_id))
    yield details("SQL", f'<pre tabindex="0"><code>{sql}</code></pre>', "sql")


def _payload(chart: Chart, rows: pl.DataFrame, cases: Cases) -> str:
    return embedding.script_json(
        {"spec": specification(chart, rows, cases), "columns": embedding.columns(rows), "count": rows.height}
    )
