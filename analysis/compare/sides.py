"""Find the sessions and the case that each argument of a comparison names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from analysis.errors import AnalysisError
from analysis.sql import choose_session
from analysis.wording.plain_text import listed
from bench.records.session_names import TAG

Known = dict[str, Sequence[str]]
"""Tags by session id, the newest session first."""

MOST = 8
"""Names that an error lists; it counts the others."""
_SIDE = re.compile(rf"((?:{TAG})?[^:,]*(?:,(?:{TAG})?[^:,]*)*)(?::(.*))?", re.S)


@dataclass(frozen=True, kw_only=True)
class Side:
    """The baseline or the candidate."""

    said: str
    """As the user wrote it."""
    session_ids: Sequence[str]
    case: str | None
    """Null: every case takes part."""

    @property
    def name(self) -> str:
        """Its sessions, and its case if it names one."""
        of_case = f" {self.case}" if self.case else ""
        return f"{', '.join(self.session_ids)}{of_case}"


def sides(connection: duckdb.DuckDBPyConnection, baseline: str, candidate: str) -> tuple[Side, Side]:
    """Parse both sides, each written SESSION[,SESSION]...[:CASE]; bench/records/session_names.py says how to name a
    SESSION. A tag names all sessions with it. Raises AnalysisError if a side names no session or case, or both sides
    are equal."""
    both = _side(connection, baseline), _side(connection, candidate)
    cases = [side.case for side in both]
    if cases.count(None) == 1:
        lone = next(side for side in both if side.case)
        raise AnalysisError(
            f"{lone.said}: names a case and the other side does not: write SESSION:CASE on both sides, or on neither"
        )
    shared = [name for name in both[0].session_ids if name in both[1].session_ids]
    if shared and cases[0] == cases[1]:
        raise AnalysisError(
            f"both sides include session {shared[0]}: nothing differs. Name other sessions, or two of its cases: "
            f"{shared[0]}:CASE {shared[0]}:OTHER_CASE"
        )
    return both


def session_ids(connection: duckdb.DuckDBPyConnection, said: str) -> Sequence[str]:
    """The ids that SESSION[,SESSION]... names. Raises AnalysisError if it names no session, or a case."""
    side = _side(connection, said)
    if side.case is not None:
        raise AnalysisError(f"{said}: names a case: give whole sessions here")
    return side.session_ids


def _side(connection: duckdb.DuckDBPyConnection, said: str) -> Side:
    known = choose_session.known(connection)
    if said in known:
        return Side(said=said, session_ids=[said], case=None)
    named, case = (said, None) if _is_a_tag(known, said) else _split(said)
    parts = [named] if case is None and _is_a_tag(known, named) else named.split(",")
    # of a tag the oldest session comes first
    found = [name for part in parts for name in reversed(_sessions(known, part.strip(), whole=named))]
    side = Side(said=said, session_ids=list(dict.fromkeys(found)), case=case)
    if case is not None:
        _check_case(connection, side)
    return side


def _is_a_tag(known: Known, said: str) -> bool:
    """Whether it is tag:TAG of a session: a tag may contain a colon or a comma."""
    tag = said.removeprefix(TAG)
    return tag != said and any(tag in tags for tags in known.values())


def _split(said: str) -> tuple[str, str | None]:
    parts = _SIDE.fullmatch(said)
    if parts is None or parts[2] == "":
        raise AnalysisError(
            f"{said}: write SESSION, SESSION,SESSION or SESSION:CASE; {TAG}TAG is a SESSION too"
        )
    return parts[1], parts[2]


def _sessions(known: Known, part: str, *, whole: str) -> list[str]:
    if not part:
        raise AnalysisError(f"{whole!r}: a session's name is empty: write SESSION, or SESSION,SESSION")
    return choose_session.named(part, known)


def _check_case(connection: duckdb.DuckDBPyConnection, side: Side) -> None:
    query = "SELECT DISTINCT case_name FROM runs WHERE list_contains($1, session_id) ORDER BY case_name"
    cases = [name for (name,) in connection.execute(query, [list(side.session_ids)]).fetchall()]
    if side.case not in cases:
        raise AnalysisError(f"{side.said}: no case {side.case!r}; there are {listed(cases, MOST) or 'none'}")
