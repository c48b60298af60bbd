"""The page that compares sessions: the first is the baseline, the others are candidates."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.files import compare_name, page_name
from analysis.report.html.markup import Section, cut, headline, link, short, text, unbroken
from analysis.report.pages.comparison import data
from analysis.report.pages.comparison.charts import figures
from analysis.report.pages.comparison.data import ComparedSessions, Sides
from analysis.report.pages.comparison.differences import environment, not_in_common, settings, unlike
from analysis.report.pages.comparison.existing import comparison_title, head
from analysis.report.pages.comparison.ratios import ratios, sentences
from analysis.report.pages.frame import charted_page
from analysis.report.sections.coverage_table import coverage
from analysis.tables.column import Column
from analysis.wording.caveats import imported_from


def compare_page(connection: duckdb.DuckDBPyConnection, compared: Sides, bundle: str) -> str:
    """The HTML for two sides or more; `bundle` is JavaScript that defines vegaEmbed."""
    comparison = data.read(connection, compared)
    sides = comparison.sides
    titles = list(dict.fromkeys(side.session["title"] or side.session["suite"] for side in sides))
    compared_count = f"{len(sides):,} sessions compared"
    return charted_page(
        "comparison",
        title=comparison_title(compared, {side.session_id: side.session for side in sides}),
        file_name=compare_name(compared),
        sections=_sections(comparison),
        bundle=bundle,
        styles=["compare"],
        meta=head(compared),
        heading=headline(titles[0], f": {compared_count}")
        if len(titles) == 1
        else Markup("<h1>{}</h1>").format(compared_count),
        side_columns=_SIDE_COLUMNS,
        sides=[
            {"letter": side.letter, "is_baseline": comparison.is_baseline(place), **side.session}
            for place, side in enumerate(sides)
        ],
        imports=[
            f"{side.letter}: {imported_from(side.session)}"
            for side in sides
            if side.session["imported"] is not None
        ],
        differences=unlike(sides),
        verdicts=map(unbroken, sentences(comparison)),
    )


def _sections(comparison: ComparedSessions) -> Iterator[Section]:
    covered = Markup().join(
        Markup("<h3>{}</h3>{}").format(text(side.name), coverage(list(side.coverage), list(side.not_ok)))
        for side in comparison.sides
    )
    yield Section(identifier="ratios", title="Ratios", content=ratios(comparison))
    yield Section(identifier="charts", title="Charts", content=figures(comparison))
    yield Section(identifier="settings", title="Settings", content=settings(comparison))
    yield Section(identifier="environment", title="Hardware and software", content=environment(comparison))
    yield Section(identifier="alone", title="Not in common", content=not_in_common(comparison))
    yield Section(identifier="coverage", title="Coverage", content=covered)


def _tags(row: Row) -> str:
    return text(", ".join(map(cut, row["tags"]))) if row["tags"] else units.UNKNOWN


def _began(row: Row) -> str:
    return f"{row['created_at']:%Y-%m-%d %H:%M}" if row["created_at"] else units.UNKNOWN


_SIDE_COLUMNS = [
    Column("session", lambda row: row["letter"] + (", baseline" if row["is_baseline"] else "")),
    Column("id", lambda row: link(page_name(row["session_id"]), text(row["session_id"]))),
    Column("suite", lambda row: short(row["suite"]) + (" (quick)" if row["quick"] else "")),
    Column("tags", _tags),
    Column("began (UTC)", _began),
    Column("runs ok", lambda row: f"{row['ok']:,} of {row['runs']:,}", number=True),
    Column("device", lambda row: short(row["devices"]) if row["devices"] else units.UNKNOWN),
]
