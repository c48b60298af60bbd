"""From the result files to results.duckdb: one transaction, only what has changed, everything bad named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from analysis import database, own_findings, own_rule_files, schema
from analysis.discover import SessionFolder, discover

if TYPE_CHECKING:
    from analysis.batch import Batch


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A file that was left out."""

    path: str
    """Relative to the results folder; `rule NAME` of a rule of one's own."""
    reason: str
    """What is wrong with it and what to do."""


@dataclass(frozen=True, kw_only=True)
class LoadReport:
    """What a load did."""

    database: Path
    sessions: int
    """Loaded by this call; those that had not changed are not among them."""
    runs: int
    """Attempts, of these sessions."""
    step_rows: int
    """Of these sessions."""
    unchanged_sessions: int
    removed_sessions: int
    """Were in the database and have no folder any more."""
    problems: tuple[Problem, ...]
    """Of all sessions, those that had not changed included."""

    def __str__(self) -> str:
        lines = [
            f"{self.sessions:,} {_plural('session', self.sessions)}, {self.runs:,} {_plural('run', self.runs)}, "
            f"{self.step_rows:,} step rows loaded into {self.database}"
        ]
        if self.unchanged_sessions:
            lines.append(
                f"{self.unchanged_sessions:,} unchanged {_plural('session', self.unchanged_sessions)}"
            )
        if self.removed_sessions:
            lines.append(
                f"{self.removed_sessions:,} {_plural('session', self.removed_sessions)} removed: no folder any more"
            )
        lines += [f"left out: {problem.path}: {problem.reason}" for problem in self.problems]
        return "\n".join(lines)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def load(results: Path, own_rules: Path | None = None) -> LoadReport:
    """Bring the database up to the files of a results folder. `own_rules` is a folder with further rules of diagnosis;
    where none is named, the database keeps those it has.

    Raises AnalysisError where a folder or the database cannot be used; a bad file is a problem in the report."""
    own = own_findings.remembered(results) if own_rules is None else own_rule_files.read(own_rules)
    folders = discover(results)
    with database.writer(results) as connection:
        report = _load_readable(connection, results, folders)
        own_rule_files.lock(connection)
        if own_rules is not None:
            own_rule_files.refuse(connection, own_rules, own)
        left_out = [
            Problem(path=f"rule {rule.finding}", reason=reason)
            for rule, reason in own_findings.ask(connection, own)
        ]
    return replace(report, problems=(*report.problems, *left_out))


def _load_readable(
    connection: duckdb.DuckDBPyConnection, results: Path, folders: list[SessionFolder]
) -> LoadReport:
    ledger = _ledger(connection)
    changed = [folder for folder in folders if ledger.get(folder.name) != _state(folder)]
    gone = ledger.keys() - {folder.name for folder in folders}
    leaving = [*gone, *(folder.name for folder in changed if folder.name in ledger)]
    found = _take_in(connection, changed, leaving) if changed or leaving else None
    return LoadReport(
        database=database.database_path(results),
        sessions=len(found.sessions()) if found else 0,
        runs=len(found.rows.get("runs", [])) if found else 0,
        step_rows=found.step_rows() if found else 0,
        unchanged_sessions=len(folders) - len(changed),
        removed_sessions=len(gone),
        problems=problems(connection),
    )


def _take_in(
    connection: duckdb.DuckDBPyConnection, changed: list[SessionFolder], leaving: list[str]
) -> Batch:
    """Put the rows of the changed folders in place of those of the sessions that leave."""
    from analysis import (  # PyArrow takes as long as all that a load does that finds nothing new
        batch,
        blame,
        ingest,
    )

    left_out: dict[Path, str] = {}
    is_limited = True
    while True:
        try:
            with database.transaction(connection):
                ingest.forget(connection, leaving)
                found = batch.read(changed, left_out)
                ingest.insert(connection, found, schema.shipped_rules())
                own_findings.make_due(connection)
            return found
        except duckdb.Error as error:
            # One run alone may have too many rows.
            if is_limited and isinstance(error, duckdb.OutOfMemoryException):
                connection.execute("RESET memory_limit")
                is_limited = False
                continue
            guilty = blame.unreadable(changed, left_out)
            if not guilty and isinstance(error, duckdb.DataError):
                guilty = blame.unstorable(connection, batch.read(changed, left_out))
            if not guilty:
                raise  # database.writer says what is to be done
            left_out |= guilty


State = frozenset[tuple[str, int | None, int | None]]
"""Path, size and time of change of everything in a session's folder."""


def _state(folder: SessionFolder) -> State:
    return frozenset((entry.relative, entry.size_bytes, entry.mtime_ns) for entry in folder.entries())


def _ledger(connection: duckdb.DuckDBPyConnection) -> dict[str, State]:
    """The state that each session's folder had when it was loaded."""
    query = "SELECT folder, path, size_bytes, mtime_ns FROM loaded_files"
    states: dict[str, set[tuple[str, int | None, int | None]]] = {}
    for folder, path, size_bytes, mtime_ns in connection.execute(query).fetchall():
        states.setdefault(folder, set()).add((path, size_bytes, mtime_ns))
    return {folder: frozenset(state) for folder, state in states.items()}


def problems(connection: duckdb.DuckDBPyConnection) -> tuple[Problem, ...]:
    """Of all files that were seen."""
    query = "SELECT path, problem FROM loaded_files WHERE problem IS NOT NULL ORDER BY path"
    found = connection.execute(query).fetchall()
    return tuple(Problem(path=path, reason=reason) for path, reason in found)
