"""Which session a user means."""

from __future__ import annotations

import difflib

import duckdb

from analysis.errors import AnalysisError
from analysis.fetched import Row, fetched

_LIKE = 0.5
"""Below it two names have nothing to do with each other."""


def choose(connection: duckdb.DuckDBPyConnection, session: str | None = None, tag: str | None = None) -> str:
    """The session of that name, or the newest; with a tag the newest that carries it. Raises AnalysisError."""
    query = "SELECT session_id, tags FROM sessions ORDER BY created_at DESC, session_id DESC"
    tags = dict(connection.execute(query).fetchall())
    if not tags:
        raise AnalysisError(
            "the database holds no session: `bench suite smoke` makes one, `bench load` loads those there are"
        )
    known: list[str] = [name for name in tags if tag is None or tag in (tags[name] or [])]
    if not known:
        every = ", ".join(sorted({t for found in tags.values() for t in found or []})) or "none"
        raise AnalysisError(f"no session has the tag {tag!r}; tags in use: {every}")
    if session is None:
        return known[0]
    if session not in known:
        raise AnalysisError(f"no session {session!r}{_nearest(session, known)}")
    return session


def head(connection: duckdb.DuckDBPyConnection, session_id: str) -> Row:
    """The row of the table sessions, of a session that `choose` has found."""
    (row,) = fetched(connection, "FROM sessions WHERE session_id = $1", [session_id])
    return row


def _nearest(session: str, known: list[str]) -> str:
    near = max(known, key=lambda name: _likeness(session, name))
    if _likeness(session, near) < _LIKE:
        return f'; `bench sql "FROM sessions"` lists all {len(known):,}'
    return f': did you mean {near}? (`bench sql "FROM sessions"` lists all {len(known):,})'


def _likeness(said: str, name: str) -> float:
    """Of what was said to a name, or to the part of it that is most like it: the date, the suite, the last digits. Of
    equally likely names the first is taken, the newest."""
    return max(difflib.SequenceMatcher(None, said, part).ratio() for part in (name, *name.split("-")))
