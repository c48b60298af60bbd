"""Why runs are not ok."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from analysis.database.rows import Row
from bench.records.skip_reason import common, kind_of

_MOST_NAMED = 3
"""Placements that one line names."""
_LEFT_NOTHING = "planned, and left no result"
FAILED = ("oom", "failed", "timeout")
"""Statuses of runs that began and could not end; columns of `coverage`."""
_NOT_OK = (*FAILED, "interrupted", "skipped", "missing")


def not_ok_counts(row: Row) -> str:
    """The repeats of a row of `coverage` that are not ok, by status: `1 oom, 2 skipped`."""
    return ", ".join(f"{row[kind]} {kind}" for kind in _NOT_OK if row[kind])


def reasons(coverage: Iterable[Row], name: Callable[[str], str] = str) -> Iterator[str]:
    """A line for each placement with runs that are not ok, so that a failure is never just a gap in a table. Placements
    skipped for reasons of one kind share a line, and so do those whose runs left nothing. `name` quotes untrusted text
    (case names, errors) for the output."""
    rows = [
        {**row, "reasons": row["reasons"] or _LEFT_NOTHING}
        for row in coverage
        if any(row[kind] for kind in _NOT_OK)
    ]
    never_began: dict[str, list[Row]] = {}
    for row in rows:
        if [kind for kind in _NOT_OK if row[kind]] in (["skipped"], ["missing"]):
            never_began.setdefault(kind_of(row["reasons"]), []).append(row)
    for row in rows:
        alike = never_began.get(kind_of(row["reasons"]), [])
        if not any(row is one for one in alike):
            alike = [row]
        if row is alike[0]:
            every = {kind: sum(one[kind] for one in alike) for kind in _NOT_OK}
            yield f"{_places(alike, name)}: {not_ok_counts(every)}: {name(common(one['reasons'] for one in alike))}"


def _places(rows: list[Row], name: Callable[[str], str]) -> str:
    named = [f"{name(row['case_name'])} {row['nodes']}x{row['ranks_per_node']}" for row in rows]
    more = len(named) - _MOST_NAMED
    return ", ".join(named[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
