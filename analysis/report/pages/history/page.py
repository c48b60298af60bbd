"""The page of a suite over its sessions: regressions, changes, and every figure."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.report.html.downloads import csv_download
from analysis.report.html.files import history_name
from analysis.report.html.markup import Section, cut, headline, unbroken
from analysis.report.pages.frame import charted_page
from analysis.report.pages.history.charts import figures
from analysis.report.pages.history.data import History
from analysis.report.pages.history.tables import Link, figures_table, regressions, sessions
from analysis.report.pages.history.wording import sentences


def history_page(history: History, bundle: str, link: Link) -> str:
    """The HTML; `bundle` is JavaScript that defines vegaEmbed."""
    newest, overall = map(unbroken, sentences(history, cut))
    return charted_page(
        "history",
        title=f"{history.title}: history",
        file_name=history_name(history.suite),
        sections=_sections(history, link),
        bundle=bundle,
        styles=["history"],
        heading=headline(history.title, ": history"),
        suite=history.suite,
        newest=newest,
        overall=overall,
    )


def _sections(history: History, link: Link) -> Iterator[Section]:
    slower = regressions(history.regressions, link)
    yield Section(identifier="regressions", title="Regressions", content=slower)
    yield Section(identifier="charts", title="Charts", content=figures(history))
    listed = sessions(history.sessions, link)
    yield Section(identifier="sessions", title="Sessions and what changed", content=listed)
    newest_first = history.points.sort("session_order", descending=True, maintain_order=True).to_dicts()
    every = figures_table(newest_first, link) + csv_download("history", history.points, "every figure")
    yield Section(identifier="figures", title="Every figure", content=every)
