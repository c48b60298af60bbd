"""The lost efficiency of each size: the six terms with their intervals, and the meaning of each."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import CASE, MOST_ROWS, PLACEMENT, label, minor, text
from analysis.report.html.render import render
from analysis.tables.column import Column
from analysis.wording import lost_efficiency, numbers, verdicts
from analysis.wording.lost_efficiency import TERMS, how_known, name_of

MOST_NAMED = 6
"""The most undecided sizes that a sentence names; the table marks all."""
_SMALLEST = 0.0005
"""Smallest share that is not rounded to nothing."""


def losses(rows: list[Row]) -> Markup:
    """`rows` of queries/losses.sql; empty if no term is known."""
    explained = lost_efficiency.explained(rows)
    sizes: dict[tuple[object, ...], dict[str, Row]] = {}  # a row per term
    for row in explained:
        place = (row["case_name"], row["nodes"], row["ranks_per_node"], row["threads"])
        sizes.setdefault(place, {})[row["term"]] = row
    if not sizes:
        return Markup()
    points = [next(iter(terms.values())) | {"terms": terms} for terms in sizes.values()]
    known = [
        term for term in TERMS if any(row["term"] == term and row["share"] is not None for row in explained)
    ]
    costly = [
        term
        for term in known
        if any(
            abs(row[end] or 0) >= _SMALLEST
            for row in explained
            if row["term"] == term
            for end in ("share", "share_lo", "share_hi")
        )
    ]
    undecided = [
        text(row["case_name"]) + " " + text(row["placement"]) for row in points if verdicts.is_open(row)
    ]
    described = {
        term: {"name": name_of(term), "meaning": TERMS[term].meaning, "definition": TERMS[term].definition}
        for term in known
    }
    return render(
        "sections/losses",
        columns=[*_KEYS, *map(_term_column, costly)],
        rows=points[:MOST_ROWS],
        most=MOST_ROWS,
        count=len(points),
        undecided=undecided[:MOST_NAMED],
        more_undecided=len(undecided) - MOST_NAMED,
        known=list(described.values()),
        costly=[described[term] for term in costly],
        free=[described[term] for term in known if term not in costly],
        ways=[how_known(way) for way in dict.fromkeys(row["known_by"] for row in explained)],
    )


def _term_column(term: str) -> Column:
    def cell(row: Row) -> Markup | str:
        if verdicts.is_open(row):
            return minor(numbers.TOO_WIDE)
        found = row["terms"][term]
        return _estimate(*(found[name] for name in ("share", "share_lo", "share_hi")))

    return Column(name_of(term), cell, number=True)


def _estimate(share: float | None, low: float | None, high: float | None) -> Markup | str:
    """A share as text: `26 % [24, 28]`, small if it may be zero."""
    if share is None:
        return units.UNKNOWN
    shown, interval = (text.replace(" ", "\u00a0") for text in numbers.percent(share, low, high))
    if low is None or high is None:
        return shown
    marked = Markup("{} {}").format(shown, minor(interval))
    return minor(marked) if low <= 0 <= high else marked


def _lost(row: Row) -> Markup | str:
    ends = (None if row[end] is None else 1 - row[end] for end in ("efficiency_hi", "efficiency_lo"))
    shown = _estimate(1 - row["efficiency"], *ends)
    undecided = label(verdicts.UNDECIDED, "none")
    return Markup("{} {}").format(shown, undecided) if verdicts.is_open(row) else shown


_KEYS = [
    CASE,
    PLACEMENT,
    Column("known by", lambda row: label(row["known_by"] or "not known", "none")),
    Column("lost", _lost, number=True),
]
