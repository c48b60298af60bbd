"""Which nodes and ranks keep the others waiting, and how surely."""

from __future__ import annotations

from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import Column, details, first_rows, table, text
from analysis.report.summary_table import label

MOST_ROWS = 40
"""Of the table; the CSV has all."""

_DEFINITION = (
    "<p>Ranks meet in every step, so that one that is late makes all steps longer: only the time before a rank first "
    "waits for the others tells it apart. Under DDP that is data and forward, under FSDP data alone. A rank is a "
    "straggler where this takes longer than at the median rank by more than 2 % of the mean step with its whole 95 % "
    "interval, and by more than the largest of so many ranks shows by chance. A node is slow where all its ranks are "
    "stragglers and there are other nodes.</p>"
)


def stragglers(counts: Row, found: list[Row]) -> str:
    """`counts` of queries/straggler_counts.sql, `found` of queries/slow_ranks.sql; nothing where no ranks could be
    compared."""
    if not counts["placements"]:
        return ""
    lines = f"<p>{_said(counts, found)}{first_rows(MOST_ROWS, len(found))}</p>"
    if found:
        lines += table("Slow nodes and ranks: one row each", _COLUMNS, found[:MOST_ROWS])
    return lines + details("What counts as a straggler", _DEFINITION)


def _said(counts: Row, found: list[Row]) -> str:
    if not counts["judged"]:
        return (
            "Whether a rank is slower than the others is not judged: that needs two ok repeats, and ranks that share "
            "no slot. The chart shows what was measured."
        )
    looked = f"{counts['placements']:,} {'size' if counts['placements'] == 1 else 'sizes'} with several ranks"
    if not found:
        return f"No: of {looked} none has a rank that keeps the others waiting beyond what repeats vary."
    # The same node at several sizes is one.
    nodes = len({row["node"] for row in found if row["rank"] is None})
    ranks = len({(row["node"], row["rank"]) for row in found if row["rank"] is not None})
    kinds = [
        f"{count:,} {kind}{'' if count == 1 else 's'}"
        for count, kind in ((nodes, "slow node"), (ranks, "slow rank"))
        if count
    ]
    return (
        f"Yes: {label('bad', ' and '.join(kinds))} at {counts['with_stragglers']:,} of {looked}. Every rank waits "
        "for the last one: what that one takes longer, all of them lose."
    )


def _who(row: Row) -> str:
    host = f" ({text(row['host'])})" if row["host"] else ""
    if row["rank"] is None:
        return f"<strong>node {row['node']}</strong>{host}, all {row['ranks']:,} ranks"
    return f"rank {row['rank']:,} on node {row['node']}{host}"


def _last(row: Row) -> str:
    """How often it was last, beside what that would be where all ranks are alike."""
    expected = f'<span class="interval">if\u00a0alike:\u00a0{units.percent(row["expected_share"])}</span>'
    return f"{units.percent(row['times_slowest_share'])} {expected}"


_COLUMNS = [
    Column(label="slow", cell=_who),
    Column(label="case", cell=lambda row: text(row["case_name"])),
    Column(label="placement", cell=lambda row: text(row["placement"])),
    Column(
        label="behind the median rank [95\u00a0%]",
        cell=lambda row: units.with_interval(
            row["excess_ms"], row["excess_ms_lo"], row["excess_ms_hi"], "ms"
        ),
        numeric=True,
    ),
    Column(label="of the step", cell=lambda row: units.percent(row["excess_of_step"]), numeric=True),
    Column(label="last in", cell=_last, numeric=True),
]
