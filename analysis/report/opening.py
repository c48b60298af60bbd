"""The head of a session's page: title, facts, why, the verdict, and what to keep in mind beside the numbers."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from analysis import lost
from analysis.caveats import caveats, was_compared
from analysis.fetched import Row
from analysis.machine import sentence
from analysis.provenance import imported_from
from analysis.report import units
from analysis.report.contents import Contents
from analysis.report.markup import attribute, headline, short, text, unordered
from analysis.report.summary_table import label, ranking
from analysis.sentence import closing_sentence
from analysis.verdicts import told
from analysis.why import because

MOST_CASES = 6
"""Cases that get a sentence each; of more the verdicts are counted."""


def opening(contents: Contents, others: Mapping[str, str] = MappingProxyType({})) -> str:
    """`others` are the words of links to other pages by their file name."""
    session, points = contents.session, contents.rows("summary")
    why = f'<p class="why">{text(session["why"])}</p>' if session["why"] else ""
    return (
        f'<header class="page"><p class="crumb screen-only">{_crumb(others)}</p>'
        f"{headline(session['title'] or session['suite'])}"
        f'<p class="facts">{" · ".join(_facts(session))}</p>{why}'
        f"{_provenance(session)}"
        f'<p class="verdict">{_sentence(points, sentence(contents.machine, text))}</p>'
        f"{_because(contents)}{_trouble(contents.rows('not_ok'))}{_others(points)}</header>"
    )


def _crumb(others: Mapping[str, str]) -> str:
    links = {"index.html": "All sessions", **others}
    return " · ".join(f'<a href="{attribute(name)}">{text(title)}</a>' for name, title in links.items())


def _provenance(session: Row) -> str:
    """Of an import, beside its verdict: whose figures these are."""
    if session["imported"] is None:
        return ""
    return f'<p class="facts">{html.escape(imported_from(session))}</p>'


def _trouble(not_ok: list[Row]) -> str:
    """What went wrong is said beside the verdict; what this machine could not host is not trouble."""
    counts = Counter(row["status"] for row in not_ok if row["status"] != "skipped")
    if not counts:
        return ""
    said = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    runs = "run is" if counts.total() == 1 else "runs are"
    link = '<a href="#coverage">why, and on which rank</a>'
    return f'<p class="trouble">{label("bad", f"{counts.total():,} {runs} not ok")} ({said}): {link}</p>'


def _facts(session: Row) -> Iterator[str]:
    yield f"suite {short(session['suite'])}{' (quick)' if session['quick'] else ''}"
    yield f"session {text(session['session_id'])}"
    if session["created_at"] is not None:
        yield f"{session['created_at']:%Y-%m-%d %H:%M} UTC"
    if session["devices"]:
        yield short(session["devices"])
    yield f"{session['ok']:,} of {session['runs']:,} runs ok" + (
        f", {session['skipped']:,} skipped" if session["skipped"] else ""
    )
    if session["elapsed_s"]:
        yield f"{units.seconds(session['elapsed_s'])} of runs"
    yield from (f"tag {short(tag)}" for tag in session["tags"] or [])


def _sentence(points: list[Row], machine: str = "") -> str:
    """HTML; no line ends between a number and its percent sign."""
    return _unbroken(closing_sentence(points, text, machine))


def _unbroken(said: str) -> str:
    return said.replace(" %", "\u00a0%")


def _because(contents: Contents) -> str:
    """Where most of it went and what to mend first, of the size that the verdict names."""
    losses = lost.explained(contents.rows("losses"))
    said = because(contents.rows("summary"), losses, contents.rows("findings"), text)
    if not said:
        return ""
    link = '<a href="#findings">Why, and what to change</a>'
    return f'<p class="because">{_unbroken(said)} {link}.</p>'


def _others(points: list[Row]) -> str:
    """The largest size of every case but the one that the verdict names; of many cases how often each verdict."""
    lead = _sentence(points)
    by_case: dict[str, list[Row]] = {}
    for point in points:
        if point["scaling"] != "none":
            by_case.setdefault(point["case_name"], []).append(point)
    compared = [case for case in by_case.values() if was_compared(case)]
    if len(compared) > MOST_CASES:
        return _counted(points)
    return unordered(sentence for case in compared if (sentence := _sentence(case)) != lead)


def _counted(points: list[Row]) -> str:
    ranked, measure = ranking([point for point in points if point["throughput"] is not None])
    if measure != "efficiency":
        return ""
    counts = Counter(told(point) for point in ranked)  # from the best to the worst
    said = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items())
    return f"<p>At the largest sizes of {len(ranked):,} cases: {html.escape(said)}.</p>"


def notes(session: Row, points: list[Row]) -> str:
    """What limits the numbers of this session; HTML list."""
    return f'<div class="notes">{unordered(html.escape(note) for note in _notes(session, points))}</div>'


def _notes(session: Row, points: list[Row]) -> Iterator[str]:
    yield "Placement 2x4 means 2 nodes with 4 ranks each."
    yield from caveats(session, points)
    if session["oversubscribed"]:
        yield "In the charts the points of oversubscribed rows are hollow."
    if any(point["nodes"] > 1 and point["throughput"] is not None for point in points):
        yield "Points with a ring lie across several nodes, the others within one."
