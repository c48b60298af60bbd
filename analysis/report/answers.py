"""Sections of a session's page that answer one question each: words, a table, the chart beside it."""

from __future__ import annotations

from analysis.report.contents import Contents
from analysis.report.downloads import csv_of
from analysis.report.figures import figures_of
from analysis.report.finding_list import findings
from analysis.report.loss_table import losses
from analysis.report.markup import Section
from analysis.report.parity_table import parity
from analysis.report.prediction_table import predictions
from analysis.report.straggler_table import stragglers


def table_section(
    contents: Contents, table: str, title: str, content: str, what: str, *, chart: str = ""
) -> Section:
    """What is said of one of the page's tables, with its rows as CSV; nothing where nothing is said and drawn."""
    saved = csv_of(contents, table, what) if content else ""
    return Section(identifier=table, title=title, content=chart + content + saved)


def losses_section(contents: Contents) -> Section:
    """Nothing where no more is known than that something was lost."""
    content, chart = losses(contents.rows("losses")), figures_of("losses", contents)
    return table_section(
        contents, "losses", "Where did the efficiency go?", content, "lost efficiency", chart=chart
    )


def findings_section(contents: Contents) -> Section:
    """Nothing of a session that trains nothing, unless something was found."""
    found = contents.rows("findings")
    if not found and all(row["throughput"] is None for row in contents.rows("summary")):
        return Section(identifier="findings", title="", content="")
    cases = {row["case_name"] for row in contents.rows("summary")}
    return Section(
        identifier="findings",
        title="Why, and what to change",
        content=findings(contents.session, found, contents.rows("rules"), cases)
        + csv_of(contents, "findings", "findings"),
    )


def stragglers_section(contents: Contents) -> Section:
    """Nothing where no size has several ranks, or it is not known when they wait for each other."""
    (counts,) = contents.rows("straggler_counts")
    content = stragglers(counts, contents.rows("slow_ranks"))
    saved = csv_of(contents, "slow_ranks", "slow nodes and ranks") if content else ""
    return Section(
        identifier="stragglers",
        title="Does a rank or a node keep the others waiting?",
        content=content + saved + (figures_of("stragglers", contents) if content else ""),
    )


def parity_section(contents: Contents) -> Section:
    content = parity(contents.rows("parity"))
    return table_section(contents, "parity", "Same training?", content, "same training")


def further_section(contents: Contents) -> Section:
    """The chart shows how near the laws come to what was measured, too; the table has what nobody ran."""
    content = predictions(contents.rows("predictions"))
    saved = csv_of(contents, "predictions", "predictions") if content else ""
    return Section(
        identifier="further",
        title="Would it scale further?",
        content=figures_of("further", contents) + content + saved,
    )
