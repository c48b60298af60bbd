"""Load changed sessions into results.duckdb, in one transaction. Bad files are left out and reported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from analysis.database import connections, schema
from analysis.diagnosis import custom_rules, run_custom_rules
from analysis.loading.scan import SessionFolder, discover
from analysis.wording.plain_text import counted

if TYPE_CHECKING:
    from analysis.loading.read_files import Incoming


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A file that was left out."""

    path: str
    """Relative to the results folder; `rule NAME` for a custom rule."""
    reason: str
    """The problem, and the remedy."""


@dataclass(frozen=True, kw_only=True)
class LoadReport:
    """The result of a load."""

    database: Path
    sessions: int
    """Number of sessions that this call loaded, without unchanged ones."""
    runs: int
    """Number of attempts of runs in these sessions."""
    step_rows: int
    """Number of step rows in these sessions."""
    unchanged_sessions: int
    removed_sessions: int
    """Number of sessions removed from the database because their folder is gone."""
    problems: tuple[Problem, ...]
    """Problems of all sessions, including unchanged ones."""

    def __str__(self) -> str:
        lines = [
            f"{counted(self.sessions, 'sessions')}, {counted(self.runs, 'runs')}, "
            f"{self.step_rows:,} step rows loaded into {self.database}"
        ]
        if self.unchanged_sessions:
            lines.append(counted(self.unchanged_sessions, "unchanged sessions"))
        if self.removed_sessions:
            lines.append(f"{counted(self.removed_sessions, 'sessions')} removed: no folder any more")
        return "\n".join([*lines, *self.left_out])

    @property
    def left_out(self) -> list[str]:
        """A line for each problem."""
        return [f"left out: {problem.path}: {problem.reason}" for problem in self.problems]


def load(results: Path, rules_folder: Path | None = None) -> LoadReport:
    """Bring the database up to date with the files of a results folder.

    `rules_folder` has custom rules of diagnosis; without it the database keeps its rules. Raises AnalysisError
    if a folder or the database cannot be used. A bad file raises nothing; it becomes a problem in the result."""
    custom = run_custom_rules.remembered(results) if rules_folder is None else custom_rules.read(rules_folder)
    folders = discover(results)
    with connections.writer(results, schema.create_tables) as connection:
        loaded = _loaded_states(connection)
        changed = [folder for folder in folders if loaded.get(folder.name) != _state(folder)]
        removed = loaded.keys() - {folder.name for folder in folders}
        outdated = [*removed, *(folder.name for folder in changed if folder.name in loaded)]
        if changed or outdated or not schema.is_complete(connection):
            incoming = _replace_sessions(connection, outdated, changed)
        else:
            incoming = None
        problems = problems_of_files(connection)
        custom_rules.lock(connection)
        if rules_folder is not None:
            custom_rules.refuse(connection, rules_folder, custom)
        problems += [
            Problem(path=f"rule {rule.finding}", reason=reason)
            for rule, reason in run_custom_rules.run_due(connection, custom)
        ]
    return LoadReport(
        database=connections.database_path(results),
        sessions=len(incoming.sessions()) if incoming else 0,
        runs=len(incoming.rows.get("runs", [])) if incoming else 0,
        step_rows=incoming.step_rows() if incoming else 0,
        unchanged_sessions=len(folders) - len(changed),
        removed_sessions=len(removed),
        problems=tuple(problems),
    )


def _replace_sessions(
    connection: duckdb.DuckDBPyConnection, outdated: list[str], changed: list[SessionFolder]
) -> Incoming:
    """Delete the rows of the outdated sessions and insert those of the changed folders, in one transaction.

    A file that makes DuckDB fail is left out, and the transaction is repeated."""
    from analysis.loading import derive, find_bad_files, insert, read_files  # they import PyArrow

    bad: dict[Path, str] = {}
    is_limited = True
    while True:
        try:
            with connections.transaction(connection):
                insert.forget(connection, outdated)
                incoming = read_files.read(changed, bad)
                insert.insert(connection, incoming)
                derive.derive_and_diagnose(connection, incoming.sessions(), schema.shipped_rules())
                run_custom_rules.make_due(connection)
            return incoming
        except duckdb.Error as error:
            # A single run may have too many rows.
            if is_limited and isinstance(error, duckdb.OutOfMemoryException):
                connection.execute("RESET memory_limit")
                is_limited = False
                continue
            found = find_bad_files.unreadable(changed, bad)
            if not found and isinstance(error, duckdb.DataError):
                found = find_bad_files.unstorable(connection, changed, bad)
            if not found:
                raise  # connections.writer says what to do
            bad |= found


State = frozenset[tuple[str, int | None, int | None]]
"""Path, size and modification time of everything in a session's folder."""


def _state(folder: SessionFolder) -> State:
    return frozenset((entry.relative, entry.size_bytes, entry.mtime_ns) for entry in folder.entries())


def _loaded_states(connection: duckdb.DuckDBPyConnection) -> dict[str, State]:
    """The state of each session's folder when it was loaded."""
    query = "SELECT folder, path, size_bytes, mtime_ns FROM loaded_files"
    states: dict[str, set[tuple[str, int | None, int | None]]] = {}
    for folder, path, size_bytes, mtime_ns in connection.execute(query).fetchall():
        states.setdefault(folder, set()).add((path, size_bytes, mtime_ns))
    return {folder: frozenset(state) for folder, state in states.items()}


def problems_of_files(connection: duckdb.DuckDBPyConnection) -> list[Problem]:
    """The problems of all files in the database's records, by path."""
    query = "SELECT path, problem FROM loaded_files WHERE problem IS NOT NULL ORDER BY path"
    return [Problem(path=path, reason=reason) for path, reason in connection.execute(query).fetchall()]
