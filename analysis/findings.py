"""What `diagnosis` found in a session, read for the terminal and for the page, and worded for the terminal."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analysis import sessions, try_it
from analysis.fetched import Row, fetched

_SHOWN = ("critical", "warning")
_MOST = 3
"""Findings that a terminal shows."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """One finding, wherever it was found."""

    worst: Row
    """The first in the order of findings."""
    cases: int
    """In which it was found."""


def read(connection: duckdb.DuckDBPyConnection, session_id: str) -> list[Row]:
    """Rows of the view in their order, each with `command`: what tries its remedy, null where nothing does."""
    session = sessions.head(connection, session_id)
    rows = fetched(connection, "FROM diagnosis WHERE session_id = $1 ORDER BY finding_order", [session_id])
    return [row | {"command": try_it.command(session, row["knob"])} for row in rows]


def gravest(found: Sequence[Row], most: int = _MOST) -> list[Group]:
    """Critical ones and warnings, the same finding in several cases once."""
    firsts: dict[str, Group] = {}
    for row in found:
        if row["severity"] in _SHOWN:
            known = firsts.get(row["finding"], Group(worst=row, cases=0))
            firsts[row["finding"]] = Group(worst=known.worst, cases=known.cases + 1)
    return list(firsts.values())[:most]


def lines(found: Sequence[Row], results: Path, name: Callable[[str], str] = str) -> Iterator[str]:
    """The gravest ones with what to try, then how to see all; nothing where nothing was found. `name` makes of a text
    that is not ours what is shown."""
    groups = gravest(found)
    if groups:
        yield "What to change"
    for group in groups:
        row = group.worst
        yield f"  {row['severity']}: {name(row['title'])}{_where(group, name)}: {name(row['evidence'])}"
        if row["command"]:
            yield f"    try: {name(row['command'])}"
    if found:
        with_advice = f"{len(found):,} finding{'s' * (len(found) > 1)} with advice"
        yield f"{with_advice}: the report, or {name(_question(found[0]['session_id'], results))}"


def _question(session_id: str, results: Path) -> str:
    """The command that shows every finding."""
    is_plain = re.fullmatch(r"[\w.-]+", session_id)
    of_it = f" WHERE session_id = '{session_id}'" if is_plain else ""
    folder = "" if results == Path("results") else f" --results {shlex.quote(str(results))}"
    return f'bench sql "FROM diagnosis{of_it}"{folder}'


def _where(group: Group, name: Callable[[str], str]) -> str:
    row = group.worst
    if row["case_name"] is None:
        return ""
    place = f" {row['placement']}" if row["placement"] else ""
    others = group.cases - 1
    more = f" and {others:,} other case{'s' * (others > 1)}" if others else ""
    return f" ({name(row['case_name'])}{place}{more})"
