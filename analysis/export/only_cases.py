"""--case: hide the rows of all other cases of a session."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

import duckdb

from analysis.database.overlay import Overlay
from analysis.database.sql_text import literal
from analysis.errors import AnalysisError
from analysis.export import relation
from analysis.wording.plain_text import listed

_OF_RUN = "(session_id, run_id) IN (SELECT (session_id, run_id) FROM temp.runs)"
_MOST_SHOWN = 40
"""Names of cases in a message."""


def show_only(connection: duckdb.DuckDBPyConnection, session_id: str, globs: Sequence[str]) -> None:
    """Hide the rows of other cases from the connection's queries, in every table and view whose rows have a case.

    The globs match as in `bench suite --case`. Raises AnalysisError if one of them matches no case of the session."""
    names = [name for (name,) in connection.execute(relation.query("case_names"), [session_id]).fetchall()]
    chosen = [name for glob in globs for name in _matching(glob, names)]
    of_case = f"session_id = {literal(session_id)} AND case_name IN ({', '.join(map(literal, chosen))})"
    conditions = {None: "true", "case_name": of_case, "run_id": _OF_RUN}
    tables = relation.with_sessions(connection)
    overlay = Overlay(connection)
    for name in [
        "runs",
        *(tables.keys() - {"runs"}),
    ]:  # the condition on run_id reads those that are left of runs
        overlay.show(name, conditions[tables[name]])


def _matching(glob: str, names: Sequence[str]) -> list[str]:
    found = [name for name in names if fnmatchcase(name, glob) or fnmatchcase(name.partition("~")[0], glob)]
    if found:
        return found
    if near := difflib.get_close_matches(glob[:200], names, n=1, cutoff=0.5):
        raise AnalysisError(f"--case {glob}: it matches no case; did you mean {near[0]}?")
    raise AnalysisError(f"--case {glob}: it matches no case; there are {listed(names, _MOST_SHOWN)}")
