"""Check every file of some sessions: find what a load inserts, what it leaves out, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis.database.rows import Row
from analysis.loading import json_files, parquet_files
from analysis.loading.json_files import BadFileError, read_json
from analysis.loading.scan import AttemptFolder, Entry, SessionFolder, table_of


@dataclass(frozen=True, kw_only=True)
class ParquetFile:
    """A checked file and the attempt that it belongs to."""

    table: str
    path: str
    session_id: str
    run_id: str
    attempt: int
    columns: list[str]
    rows: int

    @property
    def run(self) -> tuple[str, str, int]:
        """The key of the attempt."""
        return self.session_id, self.run_id, self.attempt


@dataclass(kw_only=True)
class Incoming:
    """Everything that one load inserts."""

    known_bad: Mapping[Path, str]
    """Files and session folders that an earlier attempt could not load -> why. They are left out."""
    rows: dict[str, list[Row]] = field(default_factory=dict)
    """Table -> its rows from JSON files."""
    files: list[ParquetFile] = field(default_factory=list)
    seen: list[Row] = field(default_factory=list)
    """Rows of `loaded_files`: every file that was seen, with the reason if it was left out."""

    def extend(self, table: str, rows: list[Row]) -> None:
        self.rows.setdefault(table, []).extend(rows)

    def sessions(self) -> list[str]:
        """Ids of the sessions that have rows."""
        return [row["session_id"] for row in self.rows.get("sessions", [])]

    def step_rows(self) -> int:
        """Number of step rows of all runs."""
        return sum(file.rows for file in self.files if file.table == "steps")

    def note(self, folder: SessionFolder, entry: Entry, problem: str | None) -> None:
        """Record that a file was seen."""
        self.seen.append(
            {
                "folder": folder.name,
                "path": entry.relative,
                "size_bytes": entry.size_bytes,
                "mtime_ns": entry.mtime_ns,
                "problem": problem,
            }
        )


def read(folders: list[SessionFolder], known_bad: Mapping[Path, str]) -> Incoming:
    """Check every file of the sessions. A bad file is left out, and `seen` says why."""
    incoming = Incoming(known_bad=known_bad)
    for folder in folders:
        for entry in folder.refused:
            incoming.note(folder, entry, entry.problem)
        if folder.place.problem is None:
            _read_session(incoming, folder)
    return incoming


def _read_session(incoming: Incoming, folder: SessionFolder) -> None:
    """Read session.json; without a usable one, no run of the session can be loaded."""
    try:
        if reason := incoming.known_bad.get(folder.place.path):
            raise BadFileError(reason)
        if folder.session_json is None:
            raise BadFileError("has runs but no session.json: put it back, or remove the folder")
        session = read_json(folder.session_json.path)
        rows = {
            "sessions": [json_files.session_row(session, folder.name)],
            "planned_runs": json_files.planned_rows(session),
            "environment": json_files.environment_rows(session),
        }
    except BadFileError as error:
        place = folder.session_json or folder.place
        incoming.note(folder, place, str(error))
        for entry in folder.entries():
            if entry is not place and entry not in folder.refused:
                incoming.note(folder, entry, None)
        return
    for table, found in rows.items():
        incoming.extend(table, found)
    incoming.note(folder, folder.session_json, None)
    is_finished = session.value.get("finished_at") is not None
    seen: set[tuple[str, int]] = set()
    for attempt in folder.attempts:
        _read_attempt(incoming, folder, attempt, is_finished=is_finished, seen=seen)


def _read_attempt(
    incoming: Incoming,
    folder: SessionFolder,
    attempt: AttemptFolder,
    *,
    is_finished: bool,
    seen: set[tuple[str, int]],
) -> None:
    """Read a run.json and its Parquet files. `seen` has the session's attempts so far."""
    run: Row | None = None
    problem = None
    refused = {entry.path for entry in folder.refused}
    try:
        if attempt.run_json:
            fields = read_json(attempt.run_json.path)
            row = json_files.run_row(fields, folder.name, attempt.run_id, attempt.aside)
            if (key := (attempt.run_id, row["attempt"])) in seen:
                raise BadFileError(f"attempt {row['attempt']} of this run is there twice: remove one of them")
            # a run that never began has no raw files, and no rows to convert
            is_finalised = fields.object("outcome").value.get("finalised")
            if is_finalised is False and any(attempt.place.path.glob("*.raw")):
                problem = "its step rows are not Parquet yet and are missing: `bench load` converts them"
            seen.add(key)
            incoming.extend("runs", [row])
            run = row
        elif is_finished and attempt.place.path / "run.json" not in refused:
            raise BadFileError("has no run.json: its agent was killed before the end; resume the session")
    except BadFileError as error:
        problem = str(error)
    before = len(incoming.files)
    left_out = [(entry, _read_parquet(incoming, entry, run) if run else None) for entry in attempt.parquet]
    has_refused = any(path.parent == attempt.place.path for path in refused)
    if run and problem is None and not has_refused and not any(reason for _, reason in left_out):
        problem = _missing_rows(run, incoming.files[before:])
    incoming.note(folder, attempt.run_json or attempt.place, problem)
    for entry, reason in left_out:
        incoming.note(folder, entry, reason)


def _missing_rows(run: Row, files: Sequence[ParquetFile]) -> str | None:
    """The problem of a run that has fewer step rows than its ranks stored; its other rows are still loaded."""
    stored = (run["steps_completed"] or 0) * (run["world_size"] or 0)
    found = sum(file.rows for file in files if file.table == "steps")
    if found >= stored:
        return None
    missing = f"{stored - found:,} of its {stored:,} step rows are missing"
    return f"{missing}: a steps.nodeN.parquet is gone or was changed: {parquet_files.RESTORE}"


def _read_parquet(incoming: Incoming, entry: Entry, run: Row) -> str | None:
    """Why the file is left out; None if it will be loaded."""
    if entry.path in incoming.known_bad:
        return incoming.known_bad[entry.path]
    owner = {name: run[name] for name in ("session_id", "run_id", "attempt")}
    try:
        columns, count = parquet_files.check(entry.path, **owner)
    except BadFileError as error:
        return str(error)
    table = table_of(entry.path)
    incoming.files.append(
        ParquetFile(table=table, path=str(entry.path), columns=columns, rows=count, **owner)
    )
    return None
