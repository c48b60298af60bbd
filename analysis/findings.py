"""What `diagnosis` found in a session, read for the terminal and for the page, and worded for the terminal."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analysis import finding_words, sessions, try_it, verdicts
from analysis.fetched import Row, fetched
from analysis.lost import largest_sizes
from analysis.why import REPEATED

_SHOWN = ("critical", "warning")
_MOST = 3
"""Findings that a terminal shows."""
_WIDTH = 100
"""Columns of their text."""
_BOUND = re.compile(r" (?=%)|(?<=,) (?=[\d.,-]+\])")


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
    query = "SELECT DISTINCT case_name FROM runs WHERE session_id = $1 ORDER BY ALL"
    cases = [case for (case,) in connection.execute(query, [session_id]).fetchall()]
    rows = fetched(connection, "FROM diagnosis WHERE session_id = $1 ORDER BY finding_order", [session_id])
    return [row | {"command": try_it.command(session, row["knob"], cases)} for row in rows]


def gravest(found: Sequence[Row], points: Sequence[Row], most: int = _MOST) -> list[Group]:
    """Critical ones and warnings, the same finding in several cases once; and of cases that repeats do not decide what
    makes them surer, before all that would change their training. `points` are rows of scaling."""
    undecided = {point["case_name"] for point in largest_sizes(points) if verdicts.is_open(point)}
    firsts: dict[str, Group] = {}
    for row in sorted(found, key=lambda row: _rank(row, undecided)):
        if row["severity"] in _SHOWN or _is_of_repeats(row, undecided):
            known = firsts.get(row["finding"], Group(worst=row, cases=0))
            firsts[row["finding"]] = Group(worst=known.worst, cases=known.cases + 1)
    groups = list(firsts.values())
    repeated = [group for group in groups[most:] if _is_of_repeats(group.worst, undecided)]
    if repeated and not any(_is_of_repeats(group.worst, undecided) for group in groups[:most]):
        return [*groups[: most - 1], repeated[0]]
    return groups[:most]


def _rank(row: Row, undecided: Set[str]) -> int:
    """What spoils the figures, then what is decided, then the cases that are not; one repeat decides nothing."""
    if row["finding"] == "one_repeat":
        return 1
    if row["severity"] == "critical" and row["cost"] is None:
        return 0
    if row["case_name"] not in undecided:
        return 2
    return 3 if _is_of_repeats(row, undecided) else 4


def _is_of_repeats(row: Row, undecided: Set[str]) -> bool:
    return row["finding"] in REPEATED and row["case_name"] in {None, *undecided}


def lines(
    found: Sequence[Row],
    points: Sequence[Row],
    results: Path,
    name: Callable[[str], str] = str,
    program: str = "bench",
) -> Iterator[str]:
    """The gravest ones with what to change and to try, then how to see all; nothing where nothing was found. `points`
    are rows of scaling. `name` makes of a text that is not ours what is shown, `program` is how a command begins."""
    groups = gravest(found, points)
    if groups:
        yield "What to change"
    for group in groups:
        row = group.worst
        yield from _wrapped(f"{row['severity']}: {name(row['title'])}{_where(group, name)}", 2)
        yield from _wrapped(name(finding_words.evidence(row["evidence"])), 4)
        yield from _wrapped(name(finding_words.advice(row["advice"], row["knob"])), 4)
        if row["command"]:  # in one piece, to be copied
            yield f"    try: {program}{name(row['command']).removeprefix('bench')}"
    if found:
        with_advice = f"{len(found):,} finding{'s' * (len(found) > 1)} with advice"
        yield f"{with_advice}: the report, or {program} {name(_question(found[0]['session_id'], results))}"


def _wrapped(said: str, indent: int) -> list[str]:
    """No line ends within an interval or before a percent sign."""
    margin, bound = " " * indent, "\0"
    whole = _BOUND.sub(bound, said)
    lines = textwrap.wrap(
        whole, _WIDTH, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False
    )
    return [line.replace(bound, " ") for line in lines]


def _question(session_id: str, results: Path) -> str:
    """The arguments that show every finding."""
    is_plain = re.fullmatch(r"[\w.-]+", session_id)
    of_it = f" WHERE session_id = '{session_id}'" if is_plain else ""
    folder = "" if results == Path("results") else f" --results {shlex.quote(str(results))}"
    return f'sql "FROM diagnosis{of_it}"{folder}'


def _where(group: Group, name: Callable[[str], str]) -> str:
    row = group.worst
    if row["case_name"] is None:
        return ""
    place = f" {row['placement']}" if row["placement"] else ""
    others = group.cases - 1
    more = f" and {others:,} other case{'s' * (others > 1)}" if others else ""
    return f" ({name(row['case_name'])}{place}{more})"
