"""The findings of a session: read for the terminal and the report, and worded for the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb

from analysis.database.rows import Row, fetch_rows
from analysis.diagnosis import try_command
from analysis.diagnosis.advice import NONE_CERTAIN, any_certain, first_advice
from analysis.sql import choose_session
from analysis.tables.line_breaks import wrapped

_WIDTH = 100
"""Largest width of their text, in columns."""


def read(connection: duckdb.DuckDBPyConnection, session_id: str) -> list[Row]:
    """Rows of the view `diagnosis` in order. The extra field `command` tries the remedy; None if no command does."""
    session = choose_session.head(connection, session_id)
    query = "SELECT DISTINCT case_name FROM runs WHERE session_id = $1 ORDER BY ALL"
    cases = [case for (case,) in connection.execute(query, [session_id]).fetchall()]
    rows = fetch_rows(connection, "FROM diagnosis WHERE session_id = $1 ORDER BY finding_order", [session_id])
    return [row | {"command": try_command.command(session, row["options"], cases)} for row in rows]


def lines(
    found: Sequence[Row],
    points: Sequence[Row],
    results: Path,
    name: Callable[[str], str] = str,
    program: str = "bench",
    width: int = _WIDTH,
) -> Iterator[str]:
    """Lines with the first advice, its findings and commands to try, then how to see all; empty without findings.

    `points` are rows of scaling, `name` escapes untrusted text, `program` starts a command, `width` is the terminal's.
    """
    given = first_advice(found, points)
    width = min(width, _WIDTH)
    if given:
        yield "What to change" if any_certain(given) else f"What to change. {NONE_CERTAIN}"
    for place, advice in enumerate(given, 1):
        row = advice.worst
        if advice.is_of_repeats:
            yield from wrapped(f"  {place}. {name(advice.title)}", width)
            yield from wrapped(f"    {name(advice.evidence)}", width)
        else:
            where = _where(row, name, len(advice.cases) - 1)
            sure = f": {advice.certainty}" if advice.certainty else ""
            yield from wrapped(f"  {place}. {name(row['title'])}{where}{sure}", width)
            yield from wrapped(f"    {name(row['short_evidence'])}", width)
            yield from wrapped(f"    {name(row['short_advice'])}", width)
        if row["command"]:  # in one piece, to be copied
            yield f"    try: {program}{name(row['command']).removeprefix('bench')}"
    if found:
        with_advice = f"{len(found):,} finding{'s' * (len(found) > 1)} with advice"
        yield f"{with_advice}: `{program} {name(_arguments(found[0]['session_id'], results))}`"


def finding_lines(row: Row, program: str, width: int) -> Iterator[str]:
    """One finding in full: its title, evidence and advice, and a command to try. It may contain untrusted names."""
    width = min(width, _WIDTH)
    yield from wrapped(f"{row['severity']}: {row['title']}{_where(row)}", width)
    yield from wrapped(f"    {row['evidence']}", width)
    yield from wrapped(f"    {row['advice']}", width)
    if row["command"]:
        yield f"    try: {program}{row['command'].removeprefix('bench')}"


def _arguments(session_id: str, results: Path) -> str:
    """The arguments of `bench` that show every finding."""
    folder = "" if results == Path("results") else f" --results {shlex.quote(str(results))}"
    return f"findings {shlex.quote(session_id)}{folder}"


def _where(row: Row, name: Callable[[str], str] = str, others: int = 0) -> str:
    """The case and the placement of a finding, and how many other cases have it."""
    if row["case_name"] is None:
        return ""
    place = f" {row['placement']}" if row["placement"] else ""
    more = f" and {others:,} other case{'s' * (others > 1)}" if others else ""
    return f" ({name(row['case_name'])}{place}{more})"
