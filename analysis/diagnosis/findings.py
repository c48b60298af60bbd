"""The findings of a session: read for the terminal and the report, and worded for the terminal."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analysis.database.rows import Row, fetch_rows
from analysis.diagnosis import try_command
from analysis.sql import choose_session
from analysis.wording import verdicts
from analysis.wording.closing import REPEATED
from analysis.wording.lost_efficiency import largest_sizes

_SHOWN = ("critical", "warning")
_MOST = 3
"""Number of findings that the terminal shows."""
_WIDTH = 100
"""Largest width of their text, in columns."""
_BOUND = re.compile(r" (?=%)|(?<=,) (?=[\d.,-]+\])")


@dataclass(frozen=True, kw_only=True)
class Group:
    """One finding in one or more cases."""

    worst: Row
    """Its first row in the order of findings."""
    cases: int
    """Number of cases that have it."""


def read(connection: duckdb.DuckDBPyConnection, session_id: str) -> list[Row]:
    """Rows of the view `diagnosis` in order. The extra field `command` tries the remedy; None if no command does."""
    session = choose_session.head(connection, session_id)
    query = "SELECT DISTINCT case_name FROM runs WHERE session_id = $1 ORDER BY ALL"
    cases = [case for (case,) in connection.execute(query, [session_id]).fetchall()]
    rows = fetch_rows(connection, "FROM diagnosis WHERE session_id = $1 ORDER BY finding_order", [session_id])
    return [row | {"command": try_command.command(session, row["options"], cases)} for row in rows]


def gravest(found: Sequence[Row], points: Sequence[Row], most: int = _MOST) -> list[Group]:
    """Critical findings and warnings, each once even if several cases have it. If repeats do not decide a case, advice
    to narrow the result comes before advice to change the training. `points` are rows of `scaling`."""
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
    """Sort key: findings that spoil the figures, then those of decided cases, then those of undecided ones."""
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
    width: int = _WIDTH,
) -> Iterator[str]:
    """Lines with the gravest findings, their advice and a command to try, then how to see all; empty without findings.

    `points` are rows of scaling, `name` escapes untrusted text, `program` starts a command, `width` is the terminal's.
    """
    groups = gravest(found, points)
    width = min(width, _WIDTH)
    if groups:
        yield "What to change"
    for group in groups:
        row = group.worst
        yield from _wrapped(f"{row['severity']}: {name(row['title'])}{_where(group, name)}", 2, width)
        yield from _wrapped(name(row["short_evidence"]), 4, width)
        yield from _wrapped(name(row["short_advice"]), 4, width)
        if row["command"]:  # in one piece, to be copied
            yield f"    try: {program}{name(row['command']).removeprefix('bench')}"
    if found:
        with_advice = f"{len(found):,} finding{'s' * (len(found) > 1)} with advice"
        yield f"{with_advice}: the report, or {program} {name(_sql_arguments(found[0]['session_id'], results))}"


def _wrapped(text: str, indent: int, width: int) -> list[str]:
    """Wrap the text; no line ends inside an interval or before a percent sign."""
    margin, bound = " " * indent, "\0"
    whole = _BOUND.sub(bound, text)
    lines = textwrap.wrap(
        whole, width, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False
    )
    return [line.replace(bound, " ") for line in lines]


def _sql_arguments(session_id: str, results: Path) -> str:
    """The arguments of `bench` that show every finding."""
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
