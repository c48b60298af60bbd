"""Which session a user means."""

from __future__ import annotations

import difflib

import duckdb

from analysis.errors import AnalysisError


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


def _nearest(session: str, known: list[str]) -> str:
    near = difflib.get_close_matches(session, known, n=1, cutoff=0.3) or known[:1]
    return f': did you mean {near[0]}? (`bench sql "FROM sessions"` lists all {len(known):,})'
