"""The first screen of a session's page (the finding, what is certain, the answer, what to do), and the notes on its
numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import polars as pl
from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.drawing.figure import named_figure
from analysis.report.html.markup import cut, short, text, trusted, unbroken, unordered
from analysis.report.html.render import render
from analysis.report.pages.session_data import Contents
from analysis.report.sections.advice_cards import advice_cards
from analysis.report.sections.answer_table import MOST_CASES, answer_table
from analysis.report.sections.ratio_table import ratio_table
from analysis.wording import command_scaling, lost_efficiency, pauses
from analysis.wording.caveats import busy, caveats, imported_from
from analysis.wording.headline import faster, headline, undecided
from analysis.wording.machine import sentence
from analysis.wording.other_answers import other_answers
from analysis.wording.plain_text import counted
from analysis.wording.target import of_throughput

_LONGEST_NAME = 32
"""Characters of a name in a sentence."""


_CURVE_HEIGHT = 250
"""CSS pixels of the chart of speedup."""


def first_screen(contents: Contents, others: Mapping[str, str]) -> Markup:
    """The first screen. `others` maps file names of related pages to titles."""
    session, points, found = contents.session, contents.rows("summary"), contents.rows("findings")
    losses = lost_efficiency.explained(contents.rows("losses"))
    to_target = contents.rows("time_to_target")
    counts = Counter(row["status"] for row in contents.rows("not_ok") if row["status"] != "skipped")
    has_reasons = not contents.charts["efficiency_loss"].is_empty()
    table = answer_table(points, losses, has_chart=shows_curve(contents), has_reasons=has_reasons)
    table += ratio_table(points)
    return render(
        "sections/first_screen",
        links={"index.html": "All sessions", **others},
        title=session["title"] or session["suite"],
        facts=list(_facts(session, points)),
        headline=trusted(
            unbroken(of_throughput(headline(points, _name, sentence(contents.machine, text)), to_target))
        ),
        answers=[trusted(unbroken(one)) for one in _other_answers(contents)],
        certain=trusted(unbroken(_certain(found, points, to_target))),
        undecided=trusted(unbroken(undecided(points, _name))),
        imported_from="" if session["imported"] is None else imported_from(session),
        busy=busy(found),
        shared=SHARED if any(map(_shares_a_cpu, points)) else "",
        trouble=counts  # runs that do not fit this machine are not a problem
        and {
            "runs": f"{counts.total():,} {'run is' if counts.total() == 1 else 'runs are'} not ok",
            "kinds": ", ".join(f"{count:,} {kind}" for kind, count in counts.items()),
        },
        table=table,
        curve=named_figure(contents, "speedup", height=_CURVE_HEIGHT) if shows_curve(contents) else "",
        cards=advice_cards(session, found, points, contents.cases) if table or found else "",
    )


def _other_answers(contents: Contents) -> Iterator[str]:
    networks = contents.charts["what_if"].filter(pl.col("message_factor") != 1).to_dicts()
    return other_answers(contents.rows("time_to_target"), contents.rows("findings"), networks, _name, text)


def _name(value: str) -> Markup:
    """A case's name within a sentence, cut so that the rest of the sentence stays visible."""
    return text(cut(value, _LONGEST_NAME))


SHARED = "Measured on CPUs: the ranks of a node share its cores and memory, which limits them; GPUs scale differently."


def _shares_a_cpu(point: Row) -> bool:
    return point["device_type"] == "cpu" and point["ranks_per_node"] > 1 and point["throughput"] is not None


def shows_curve(contents: Contents) -> bool:
    """Whether the first screen shows the speedup over all sizes: one has more than two, and lines can be named."""
    rows = contents.charts["speedup"]
    sizes = rows.group_by("case_name").agg(pl.col("workers").n_unique()).get_column("workers").to_list()
    return 0 < len(sizes) <= MOST_CASES and max(sizes) > 2


def _certain(found: list[Row], points: list[Row], to_target: list[Row]) -> str:
    """The gravest finding that is certain and costs time; without one, which cases are certainly faster or slower."""
    for row in found:
        if row["certainty"] == "shown" and row["cost"] and row["severity"] != "notice":
            place = " ".join(_name(part) for part in (row["case_name"], row["placement"]) if part)
            return f"{place}{': ' if place else ''}{text(row['short_evidence'])}."
    return of_throughput(faster(points, _name), to_target)


def _facts(session: Row, points: list[Row]) -> Iterator[Markup | str]:
    yield "suite " + short(session["suite"]) + (" (quick)" if session["quick"] else "")
    if session["created_at"] is not None:
        yield f"{session['created_at']:%Y-%m-%d %H:%M} UTC"
    if session["devices"]:
        yield short(session["devices"])
    yield f"{session['ok']:,} of {session['runs']:,} runs ok" + (
        f", {session['skipped']:,} skipped" if session["skipped"] else ""
    )
    if any(point["is_published"] for point in points):
        yield "one figure per size"
    elif repeats := {point["repeats"] for point in points if point["throughput"] is not None}:
        least, most = min(repeats), max(repeats)
        yield f"{counted(least, 'repeats') if least == most else f'{least:,} to {most:,} repeats'} each"
    yield from ("tag " + short(tag) for tag in session["tags"] or [])


def notes(session: Row, points: list[Row], differing: list[Row], runs: list[Row]) -> Markup:
    """The limits of this session's numbers. `differing` are rows of queries/fingerprint.sql, `runs` of
    queries/runs.sql."""
    limits = caveats(session, points, differing=differing)
    recorded = (*command_scaling.lines(points, runs), *command_scaling.short_runs(runs), *pauses.lines(runs))
    said: list[str] = ["Placement 2x4 means 2 nodes with 4 ranks each.", *recorded, *limits]
    if session["oversubscribed"]:
        said.append("In the charts the points of oversubscribed rows are hollow.")
    if any(point["nodes"] > 1 and point["throughput"] is not None for point in points):
        said.append("Points with a ring ran on several nodes, the others on one.")
    return Markup('<div class="notes">{}</div>').format(unordered(said))
