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
from analysis.report.pages.comparison.forest import forest
from analysis.report.pages.comparison.ratios import busy, ratios, sentences
from analysis.report.pages.frame import charted_page
from analysis.report.sections.coverage_table import coverage
from analysis.tables.column import Column
from analysis.wording.caveats import imported_from


def compare_page(connection: duckdb.DuckDBPyConnection, compared: Sides, bundle: str) -> str:
    """The HTML for two or more sessions; `bundle` is JavaScript that defines vegaEmbed."""
    comparison = data.read(connection, compared)
    sessions = comparison.sessions
    titles = list(dict.fromkeys(one.session["title"] or one.session["suite"] for one in sessions))
    compared_count = f"{len(sessions):,} sessions compared"
    return charted_page(
        "comparison",
        title=comparison_title(compared, {one.session_id: one.session for one in sessions}),
        file_name=compare_name(compared),
        sections=_sections(comparison),
        bundle=bundle,
        styles=["compare"],
        meta=head(compared),
        heading=headline(titles[0], f": {compared_count}")
        if len(titles) == 1
        else Markup("<h1>{}</h1>").format(compared_count),
        session_columns=_SESSION_COLUMNS,
        sessions=[
            {"letter": one.letter, "is_baseline": comparison.is_baseline(place), **one.session}
            for place, one in enumerate(sessions)
        ],
        imports=[
            f"{one.letter}: {imported_from(one.session)}"
            for one in sessions
            if one.session["imported"] is not None
        ],
        differences=unlike(sessions),
        verdicts=map(unbroken, sentences(comparison)),
        busy=busy(comparison),
    )


def _sections(comparison: ComparedSessions) -> Iterator[Section]:
    covered = Markup().join(
        Markup("<h3>{}</h3>{}").format(text(one.name), coverage(list(one.coverage), list(one.not_ok)))
        for one in comparison.sessions
    )
    yield Section(identifier="ratios", title="Ratios", content=forest(comparison) + ratios(comparison))
    yield Section(
        identifier="charts",
        title="Curves of the cases in common",
        content=figures(comparison),
        folded=True,
        printed=True,
    )
    yield Section(
        identifier="settings", title="Settings", content=settings(comparison), folded=True, printed=True
    )
    yield Section(
        identifier="environment", title="Hardware and software", content=environment(comparison), folded=True
    )
    yield Section(identifier="alone", title="Not in common", content=not_in_common(comparison), folded=True)
    yield Section(
        identifier="coverage",
        title="Which runs are ok?",
        content=covered,
        folded=True,
        answer="; ".join(
            f"{one.letter}: {one.session['ok']:,} of {one.session['runs']:,}" for one in comparison.sessions
        ),
    )


def _tags(row: Row) -> str:
    return text(", ".join(map(cut, row["tags"]))) if row["tags"] else units.UNKNOWN


_SESSION_COLUMNS = [
    Column("session", lambda row: row["letter"] + (", baseline" if row["is_baseline"] else "")),
    Column("id", lambda row: link(page_name(row["session_id"]), text(row["session_id"]))),
    Column("suite", lambda row: short(row["suite"]) + (" (quick)" if row["quick"] else "")),
    Column("tags", _tags),
    Column("began (UTC)", lambda row: units.minute(row["created_at"])),
    Column("runs ok", lambda row: f"{row['ok']:,} of {row['runs']:,}", number=True),
    Column("device", lambda row: short(row["devices"]) if row["devices"] else units.UNKNOWN),
]
