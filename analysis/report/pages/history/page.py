"""The page of a suite over its sessions: what changed, one picture, the newest session, and the rest in layers."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from analysis.report.html.downloads import csv_download
from analysis.report.html.files import history_name
from analysis.report.html.markup import Section, cut, text, trusted, unbroken
from analysis.report.pages.frame import charted_page
from analysis.report.pages.history.charts import efficiency, throughput
from analysis.report.pages.history.data import History
from analysis.report.pages.history.tables import Link, figures_table, newest, regressions, sessions
from analysis.report.pages.history.wording import changes, headline, overall, undecided
from analysis.wording.plain_text import counted

_LONGEST_NAME = 64
"""Characters of a name in a sentence."""


def history_page(history: History, bundle: str, link: Link) -> str:
    """The HTML; `bundle` is JavaScript that defines vegaEmbed."""
    return charted_page(
        "history",
        title=f"{history.title}: history",
        file_name=history_name(history.suite),
        sections=_sections(history, link),
        bundle=bundle,
        styles=["answer", "history"],
        name=history.title,
        suite=history.suite,
        headline=_markup(headline(history, _name)),
        changes=_markup(changes(history, _name)),
        undecided=_markup(undecided(history, _name)),
        overall=unbroken(overall(history)),
    )


def _markup(sentence: str) -> Markup:
    """A sentence whose names `_name` has escaped."""
    return trusted(unbroken(sentence))


def _name(value: str) -> str:
    """A name within a sentence."""
    return text(cut(value, _LONGEST_NAME))


def _sections(history: History, link: Link) -> Iterator[Section]:
    """The picture and the newest session are open, each of the others is a line until a reader opens it."""
    yield Section(identifier="charts", title="Session by session", content=throughput(history))
    yield Section(identifier="newest", title="The newest session", content=newest(history))
    found = history.regressions
    yield Section(
        identifier="regressions",
        title="Regressions",
        content=regressions(found, link),
        folded=True,
        answer=(f"{len(found):,}, the last in session {found[0]['session_order']:,}" if found else "none"),
        printed=True,
    )
    yield Section(
        identifier="sessions",
        title="Settings, software and machines that changed",
        content=sessions(history, link),
        folded=True,
        answer=counted(len(history.sessions), "sessions"),
        printed=True,
    )
    yield Section(
        identifier="efficiency", title="Efficiency", content=efficiency(history), folded=True, printed=True
    )
    newest_first = history.points.sort("session_order", descending=True, maintain_order=True).to_dicts()
    every = figures_table(newest_first, link) + csv_download("history", history.points, "every figure")
    answer = counted(len(newest_first), "rows")
    yield Section(
        identifier="figures", title="All numbers", content=every, folded=True, answer=answer, printed=True
    )
