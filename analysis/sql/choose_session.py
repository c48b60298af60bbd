"""Find the session that a user names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from analysis.database.rows import Row, fetch_rows
from analysis.errors import AnalysisError
from analysis.wording.plain_text import listed
from bench.records.session_names import NONE_YET, TAG, UnknownSessionError, sessions_named

_MOST_SUITES = 8
_KNOWN = Path(__file__).parent / "known_sessions.sql"


def choose(connection: duckdb.DuckDBPyConnection, session: str | None = None, tag: str | None = None) -> str:
    """The id of the session with this name [default: the newest]; with a tag, of the newest that also has the tag.

    Raises AnalysisError if there is none."""
    tags = known(connection)
    if not tags:
        raise AnalysisError(NONE_YET)
    if tag is not None:
        with_it = named(f"{TAG}{tag}", tags)
        tags = {session_id: tags[session_id] for session_id in with_it}
    return next(iter(tags)) if session is None else named(session, tags)[0]


def known(connection: duckdb.DuckDBPyConnection) -> dict[str, Sequence[str]]:
    """Session id -> its tags, the newest session first; published tables are no sessions of the user's, so they come
    last."""
    query = _KNOWN.read_text(encoding="utf-8")
    return {session_id: tags or [] for session_id, tags in connection.execute(query).fetchall()}


def named(session: str, tags: dict[str, Sequence[str]]) -> list[str]:
    """The ids that `session` names among the sessions of `known`, the newest first. Raises AnalysisError."""
    try:
        return sessions_named(session, tags)
    except UnknownSessionError as error:
        raise AnalysisError(str(error)) from None


def unknown_suite(suite: str, known: Iterable[str | None]) -> AnalysisError:
    """The error about a suite without a session; `known` are the suites of the sessions, the newest first."""
    names = list(dict.fromkeys(name for name in known if name is not None))
    if not names:
        return AnalysisError(NONE_YET)
    return AnalysisError(f"no session of the suite {suite!r}; there are {listed(names, _MOST_SUITES)}")


def head(connection: duckdb.DuckDBPyConnection, session_id: str) -> Row:
    """The row of the table sessions for a session found by `choose`."""
    (row,) = fetch_rows(connection, "FROM sessions WHERE session_id = $1", [session_id])
    return row
