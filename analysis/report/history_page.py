"""The page of a suite over its sessions: what became slower, what changed, and every figure."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.report.charted_page import charted_page
from analysis.report.downloads import csv_download
from analysis.report.files import history_name
from analysis.report.history.charts import figures
from analysis.report.history.contents import History
from analysis.report.history.sentence import sentences
from analysis.report.history.tables import Link, figures_table, regressions, sessions
from analysis.report.markup import LONGEST, Section, cut, headline, text

_FOOTER = (
    "<p>Every number on this page is a row of the view <code>history</code>; the SQL beside each chart asks "
    "for it again. The page loads nothing and sends nothing.</p>"
)
_HOW = (
    "Ratio: throughput ÷ that of the last session before with the same settings, threads and model of device, with its "
    "95 % interval (Welch on logs) over repeats. Faster or slower: the interval excludes 1. Same: it lies within "
    "1 ± 2 %. Unlike: no such session ran before, so there is no verdict."
)
_REGRESSION = (
    "Regression: slower by more than 2 % for "
    "certain, over all rows of the session at 5 % (Holm), and by more than sessions differ between which nothing "
    "changed; usual is that range, once three pairs of sessions have shown it."
)


def history_page(history: History, bundle: str, link: Link) -> str:
    """HTML; `bundle` is the JavaScript that defines vegaEmbed."""
    return charted_page(
        title=f"{history.title}: history",
        file_name=history_name(history.suite),
        opening=_opening(history),
        parts=_sections(history, link),
        footer=_FOOTER,
        bundle=bundle,
        styles=["history"],
    )


def _opening(history: History) -> str:
    verdict, overall = (text(said.replace(" %", "\u00a0%")) for said in sentences(history, _name))
    return (
        '<header class="page"><p class="crumb screen-only"><a href="index.html">All sessions</a></p>'
        f"{headline(history.title, ': history')}"
        f'<p class="facts">suite {text(history.suite)}</p>'
        f'<p class="verdict">{verdict}</p><p class="facts">{overall}</p></header>'
    )


def _name(name: str) -> str:
    return cut(name, LONGEST)


def _sections(history: History, link: Link) -> Iterator[Section]:
    yield Section(
        identifier="regressions", title="Regressions", content=regressions(history.regressions, link)
    )
    yield Section(identifier="charts", title="Charts", content=figures(history))
    saved = csv_download("history", history.points, "every figure")
    newest_first = history.points.sort("session_order", descending=True, maintain_order=True).to_dicts()
    yield Section(
        identifier="sessions", title="Sessions and what changed", content=sessions(history.sessions, link)
    )
    reading = f'<p class="reading">{_HOW}</p><p class="reading">{_REGRESSION}</p>'
    every = figures_table(newest_first, link)
    yield Section(identifier="figures", title="Every figure", content=f"{reading}{every}{saved}")
