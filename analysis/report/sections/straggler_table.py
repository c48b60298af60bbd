"""Nodes and ranks that keep the others waiting, and how certain that is."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import (
    CASE,
    MOST_ROWS,
    PLACEMENT,
    interval_cell,
    label,
    minor,
    number_cell,
    text,
)
from analysis.report.html.render import render
from analysis.tables.column import Column


def stragglers(counts: Row, found: list[Row]) -> Markup:
    """The section; empty if no ranks could be compared. `counts` are from queries/straggler_counts.sql, `found` from
    queries/slow_ranks.sql."""
    if not counts["placements"]:
        return Markup()
    return render(
        "sections/stragglers",
        summary=straggler_answer(counts, found),
        columns=_COLUMNS,
        rows=found,
        most=MOST_ROWS,
    )


def straggler_answer(counts: Row, found: list[Row]) -> Markup | str:
    """Whether a rank or a node keeps the others waiting, in a sentence or two."""
    if not counts["judged"]:
        return (
            "Whether a rank is slower than the others is not judged: that needs two ok repeats, and ranks that share "
            "no slot. The chart shows what was measured."
        )
    looked = f"{counts['placements']:,} {'size' if counts['placements'] == 1 else 'sizes'} with several ranks"
    if not found:
        return (
            f"No: of {looked}, none has a rank that keeps the others waiting beyond the variation of repeats."
        )
    # The same node at several sizes counts once.
    nodes = len({row["node"] for row in found if row["rank"] is None})
    ranks = len({(row["node"], row["rank"]) for row in found if row["rank"] is not None})
    kinds = [
        f"{count:,} {kind}{'' if count == 1 else 's'}"
        for count, kind in ((nodes, "slow node"), (ranks, "slow rank"))
        if count
    ]
    return Markup(
        "Yes: {} at {:,} of {}. Every rank waits for the last one: all of them lose its delay."
    ).format(label(" and ".join(kinds), "bad"), counts["with_stragglers"], looked)


def _who(row: Row) -> Markup:
    host = Markup(" ({})").format(text(row["host"])) if row["host"] else ""
    if row["rank"] is None:
        return Markup("<strong>node {}</strong>{}, all {:,} ranks").format(row["node"], host, row["ranks"])
    return Markup("rank {:,} on node {}{}").format(row["rank"], row["node"], host)


def _last(row: Row) -> Markup:
    """How often the rank was last, and how often it would be if all ranks were alike."""
    expected = minor(f"if\u00a0alike:\u00a0{units.percent(row['expected_share'])}")
    return Markup("{} {}").format(units.percent(row["times_slowest_share"]), expected)


_COLUMNS = [
    Column("slow", _who),
    CASE,
    PLACEMENT,
    Column("behind the median rank [95\u00a0%]", interval_cell("excess_ms", "ms"), number=True),
    Column("of the step", number_cell("excess_of_step", units.percent), number=True),
    Column("last in", _last, number=True),
]
