"""The first screen of a session's page (title, facts, the verdict and its main cause), and the notes on its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import headline, short, text, trusted, unbroken, unordered
from analysis.report.html.render import render
from analysis.report.pages.session_data import Contents
from analysis.report.sections.summary_table import ranking
from analysis.wording import lost_efficiency
from analysis.wording.caveats import busy, caveats, imported_from, was_compared
from analysis.wording.closing import because, closing_sentence
from analysis.wording.machine import sentence

MOST_CASES = 6
"""Up to this number, each case gets a sentence; if there are more, their verdicts are counted."""


def first_screen(contents: Contents, others: Mapping[str, str] = MappingProxyType({})) -> Markup:
    """The first screen. `others` maps file names of related pages to titles."""
    session, points = contents.session, contents.rows("summary")
    verdict = _verdict(points, sentence(contents.machine, text))
    losses = lost_efficiency.explained(contents.rows("losses"))
    counts = Counter(row["status"] for row in contents.rows("not_ok") if row["status"] != "skipped")
    return render(
        "sections/first_screen",
        links={"index.html": "All sessions", **others},
        heading=headline(session["title"] or session["suite"]),
        facts=list(_facts(session)),
        why=session["why"],
        imported_from="" if session["imported"] is None else imported_from(session),
        busy=busy(contents.rows("findings")),
        verdict=verdict,
        because=trusted(unbroken(because(points, losses, contents.rows("findings"), text))),
        trouble=counts  # runs that do not fit this machine are not a problem
        and {
            "runs": f"{counts.total():,} {'run is' if counts.total() == 1 else 'runs are'} not ok",
            "kinds": ", ".join(f"{count:,} {kind}" for kind, count in counts.items()),
        },
        other_cases=_other_cases(points, verdict),
    )


def _facts(session: Row) -> Iterator[Markup | str]:
    yield "suite " + short(session["suite"]) + (" (quick)" if session["quick"] else "")
    yield "session " + text(session["session_id"])
    if session["created_at"] is not None:
        yield f"{session['created_at']:%Y-%m-%d %H:%M} UTC"
    if session["devices"]:
        yield short(session["devices"])
    yield f"{session['ok']:,} of {session['runs']:,} runs ok" + (
        f", {session['skipped']:,} skipped" if session["skipped"] else ""
    )
    if session["elapsed_s"]:
        yield f"{units.seconds(session['elapsed_s'])} of runs"
    yield from ("tag " + short(tag) for tag in session["tags"] or [])


def _verdict(points: list[Row], machine: str = "") -> Markup:
    return trusted(unbroken(closing_sentence(points, text, machine)))


def _other_cases(points: list[Row], verdict: Markup) -> Markup:
    """A sentence on the largest size of each case except the verdict's; if there are many, a count of verdicts."""
    by_case: dict[str, list[Row]] = {}
    for point in points:
        if point["scaling_mode"] != "none":
            by_case.setdefault(point["case_name"], []).append(point)
    compared = [case for case in by_case.values() if was_compared(case)]
    if len(compared) <= MOST_CASES:
        verdicts = map(_verdict, compared)
        return unordered(other for other in verdicts if other != verdict)
    ranked, measure = ranking([point for point in points if point["throughput"] is not None])
    if measure != "efficiency":
        return Markup()
    counts = Counter(point["verdict"] for point in ranked)  # from the best to the worst
    said = ", ".join(f"{count:,} {judged}" for judged, count in counts.items())
    return Markup("<p>At the largest sizes of {:,} cases: {}.</p>").format(len(ranked), said)


def notes(session: Row, points: list[Row], differing: list[Row]) -> Markup:
    """The limits of this session's numbers. `differing` are rows of queries/fingerprint.sql."""
    limits = caveats(session, points, differing=differing)
    said: list[str] = ["Placement 2x4 means 2 nodes with 4 ranks each.", *limits]
    if session["oversubscribed"]:
        said.append("In the charts the points of oversubscribed rows are hollow.")
    if any(point["nodes"] > 1 and point["throughput"] is not None for point in points):
        said.append("Points with a ring ran on several nodes, the others on one.")
    return Markup('<div class="notes">{}</div>').format(unordered(said))
