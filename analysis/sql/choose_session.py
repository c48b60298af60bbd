"""Find the session that a user names."""

from __future__ import annotations

import difflib

import duckdb

from analysis.database.rows import Row, fetch_rows
from analysis.errors import AnalysisError

_SIMILAR = 0.5
"""Least similarity of two names for a suggestion."""


def choose(connection: duckdb.DuckDBPyConnection, session: str | None = None, tag: str | None = None) -> str:
    """The id of the session with this name [default: the newest]; with a tag, the id of the newest session that has it.

    Raises AnalysisError if there is none."""
    query = "SELECT session_id, tags FROM sessions ORDER BY created_at DESC, session_id DESC"
    tags = dict(connection.execute(query).fetchall())
    if not tags:
        raise AnalysisError(
            "the database holds no session: `bench suite smoke` measures one, `bench load` loads existing ones"
        )
    known: list[str] = [name for name in tags if tag is None or tag in (tags[name] or [])]
    if not known:
        every = ", ".join(sorted({t for found in tags.values() for t in found or []})) or "none"
        raise AnalysisError(f"no session has the tag {tag!r}; tags in use: {every}")
    if session is None:
        return known[0]
    if session not in known:
        raise AnalysisError(f"no session {session!r}{_suggestion(session, known)}")
    return session


def head(connection: duckdb.DuckDBPyConnection, session_id: str) -> Row:
    """The row of the table sessions for a session found by `choose`."""
    (row,) = fetch_rows(connection, "FROM sessions WHERE session_id = $1", [session_id])
    return row


def _suggestion(session: str, known: list[str]) -> str:
    # of equally similar names max takes the first, the newest
    near = max(known, key=lambda name: _similarity(session, name))
    if _similarity(session, near) < _SIMILAR:
        return f'; `bench sql "FROM sessions"` lists all {len(known):,}'
    return f': did you mean {near}? (`bench sql "FROM sessions"` lists all {len(known):,})'


def _similarity(typed: str, name: str) -> float:
    """Similarity, from 0 to 1, of the typed text and the name or its most similar part (date, suite, last digits)."""
    return max(difflib.SequenceMatcher(None, typed, part).ratio() for part in (name, *name.split("-")))
