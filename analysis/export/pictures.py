"""The pictures of a session by their names: the summary and every chart that has rows."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from analysis.errors import AnalysisError
from analysis.export import chart_picture, table_picture
from analysis.export.chart_picture import described
from analysis.export.content import Content
from analysis.report import named_queries
from analysis.report.charts import all_charts
from analysis.report.drawing.chart import Cases
from analysis.wording.plain_text import printable

SUMMARY = "summary"
"""The name of the table's picture."""


def draw(
    connection: duckdb.DuckDBPyConnection, found: Content, cases: Cases, wanted: str | None
) -> dict[str, tuple[str, str]]:
    """Name -> SVG and its origin, for all pictures or only those of the chart `wanted`. `cases` are all of the session,
    so a case has the same colour with fewer cases. Raises AnalysisError if there is no such chart, or no row for it."""
    charts = all_charts()
    if wanted not in (None, SUMMARY, *charts):
        raise AnalysisError(f"--chart: no chart {wanted!r}: there are {', '.join([SUMMARY, *charts])}")
    origin = printable(found.provenance())
    drawn = {
        name: (described(svg, title, origin), origin)
        for name, title, svg in _drawn(connection, found, cases, wanted)
    }
    if not drawn:
        raise AnalysisError(f"--chart {wanted}: session {found.session['session_id']!r} has no data for it")
    return drawn


def _drawn(
    connection: duckdb.DuckDBPyConnection, found: Content, cases: Cases, wanted: str | None
) -> Iterator[tuple[str, str, str]]:
    session_id = found.session["session_id"]
    finding = printable(found.sentence())
    if wanted in (None, SUMMARY):
        yield SUMMARY, printable(found.caption) or finding, table_picture.svg(found)
    for name, chart in all_charts().items():
        if wanted not in (None, name):
            continue
        rows = named_queries.by_suite(named_queries.frame(connection, name, session_id), cases)
        if not rows.is_empty():
            yield from chart_picture.svgs(
                name,
                chart,
                rows,
                cases,
                caption=printable(found.caption),
                finding=finding,
                origin=printable(found.provenance()),
            )
