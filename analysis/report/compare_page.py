"""The page that compares sessions: the first is the baseline, the others are its candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb

from analysis.fetched import Row
from analysis.provenance import imported_from
from analysis.report import units
from analysis.report.charted_page import charted_page
from analysis.report.compare import contents
from analysis.report.compare.charts import figures
from analysis.report.compare.contents import Comparison, Side
from analysis.report.compare.differences import environment, not_in_common, settings, unlike
from analysis.report.compare.found import comparison_title, head
from analysis.report.compare.groups import Sides
from analysis.report.compare.ratios import ratio_table, reading, sentences
from analysis.report.coverage_table import coverage
from analysis.report.downloads import csv_download
from analysis.report.files import compare_name, page_name
from analysis.report.markup import (
    LONGEST,
    Column,
    Section,
    attribute,
    cut,
    headline,
    short,
    table,
    text,
    unordered,
)

_FOOTER = (
    "<p>Every number on this page is a row of the database; the SQL beside each chart asks for it again. "
    "The page loads nothing and sends nothing.</p>"
)


def compare_page(connection: duckdb.DuckDBPyConnection, compared: Sides, bundle: str) -> str:
    """HTML of two sides or more; `bundle` is the JavaScript that defines vegaEmbed."""
    comparison = contents.read(connection, compared)
    known = {side.session_id: side.session for side in comparison.sides}
    return charted_page(
        title=comparison_title(compared, known),
        file_name=compare_name(compared),
        opening=_opening(comparison),
        parts=_sections(comparison),
        footer=_FOOTER,
        bundle=bundle,
        styles=["compare"],
        meta=head(compared),
    )


def _opening(comparison: Comparison) -> str:
    verdicts = "".join(
        f'<p class="verdict">{text(said)}</p>' for said in map(_unbroken, sentences(comparison))
    )
    return (
        '<header class="page"><p class="crumb screen-only"><a href="index.html">All sessions</a></p>'
        f"{_heading(comparison)}{_sides(comparison)}{_imported(comparison.sides)}{_unlike(comparison)}{verdicts}</header>"
    )


def _unbroken(sentence: str) -> str:
    """No line ends between a number and its percent sign."""
    return sentence.replace(" %", "\u00a0%")


def _heading(comparison: Comparison) -> str:
    titles = list(dict.fromkeys(side.session["title"] or side.session["suite"] for side in comparison.sides))
    said = f"{len(comparison.sides):,} sessions compared"
    return headline(titles[0], f": {said}") if len(titles) == 1 else f"<h1>{said}</h1>"


def _imported(sides: Sequence[Side]) -> str:
    """Whose figures these are, where they are not ours."""
    return "".join(
        f'<p class="facts">{text(f"{side.letter}: {imported_from(side.session)}")}</p>'
        for side in sides
        if side.session["imported"] is not None
    )


def _unlike(comparison: Comparison) -> str:
    lines = unlike(comparison.sides)
    if not lines:
        return ""
    return (
        '<div class="unlike" role="note"><p><strong>These sessions are unlike.</strong> A ratio between them has every '
        f"one of these differences in it:</p>{unordered(lines)}</div>"
    )


def _sides(comparison: Comparison) -> str:
    rows = [
        {"side": side, "is_baseline": comparison.is_baseline(place), **side.session}
        for place, side in enumerate(comparison.sides)
    ]
    return table("The sessions: one row each, the baseline first", _SIDE_COLUMNS, rows)


def _session(row: Row) -> str:
    side: Side = row["side"]
    return f'<a href="{attribute(page_name(side.session_id))}">{text(side.session_id)}</a>'


_SIDE_COLUMNS = [
    Column(
        label="session",
        cell=lambda row: row["side"].letter + (", baseline" if row["is_baseline"] else ""),
    ),
    Column(label="id", cell=_session),
    Column(label="suite", cell=lambda row: short(row["suite"]) + (" (quick)" if row["quick"] else "")),
    Column(
        label="tags",
        cell=lambda row: (
            text(", ".join(cut(tag, LONGEST) for tag in row["tags"])) if row["tags"] else units.UNKNOWN
        ),
    ),
    Column(
        label="began (UTC)",
        cell=lambda row: f"{row['created_at']:%Y-%m-%d %H:%M}" if row["created_at"] else units.UNKNOWN,
    ),
    Column(label="runs ok", cell=lambda row: f"{row['ok']:,} of {row['runs']:,}", numeric=True),
    Column(label="device", cell=lambda row: short(row["devices"]) if row["devices"] else units.UNKNOWN),
]


def _sections(comparison: Comparison) -> Iterator[Section]:
    yield Section(identifier="ratios", title="Ratios", content=_ratios(comparison))
    yield Section(identifier="charts", title="Charts", content=figures(comparison))
    yield Section(identifier="settings", title="Settings", content=settings(comparison))
    yield Section(identifier="environment", title="Hardware and software", content=environment(comparison))
    yield Section(identifier="alone", title="Not in common", content=not_in_common(comparison))
    yield Section(identifier="coverage", title="Coverage", content=_coverage(comparison))


def _ratios(comparison: Comparison) -> str:
    baseline = comparison.baseline
    pairs = zip(comparison.candidates, comparison.ratios, strict=True)
    tables = "".join(
        f"<h3>{side.letter} against {baseline.letter}</h3>{ratio_table(baseline, side, rows.to_dicts())}"
        + csv_download(
            f"{side.letter}_against_{baseline.letter}".replace(" ", "_"), rows, "placements in common"
        )
        for side, rows in pairs
    )
    return f'<p class="reading">{reading()}</p>{tables}'


def _coverage(comparison: Comparison) -> str:
    return "".join(
        f"<h3>{text(side.name)}</h3>{coverage(list(side.coverage), list(side.not_ok))}"
        for side in comparison.sides
    )
