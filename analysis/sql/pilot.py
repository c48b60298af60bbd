"""The cost of a session's runs and how much their times vary, as `bench suite --plan-for` needs them."""

from __future__ import annotations

from pathlib import Path

from analysis.database import connections
from analysis.database.rows import Row, fetch_rows
from analysis.errors import AnalysisError


def read(results: Path, session_id: str) -> list[Row]:
    """A row for each case and placement, with the columns of `variance_components`, null if no run of it is ok.

    Raises AnalysisError if the database cannot be read or does not hold the session."""
    query = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    with connections.reader(results) as connection:
        rows = fetch_rows(connection, query, {"session_id": session_id})
    if not rows:
        raise AnalysisError(f"session {session_id} is not in the database: `bench load` loads it")
    return rows
