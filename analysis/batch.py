"""Everything that one load is about to insert, and everything that it leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis import parquet, rows
from analysis.discover import AttemptFolder, Entry, SessionFolder
from analysis.fetched import Row
from analysis.fields import BadFileError, Fields, read_json


@dataclass(frozen=True, kw_only=True)
class ParquetFile:
    """A checked file and the attempt it belongs to."""

    table: str
    path: str
    session_id: str
    run_id: str
    attempt: int
    columns: list[str]
    rows: int

    @property
    def run(self) -> tuple[str, str, int]:
        """The attempt, as a key."""
        return self.session_id, self.run_id, self.attempt


@dataclass(kw_only=True)
class Batch:
    """Rows by table, files by table, and the ledger of what was seen."""

    unreadable: Mapping[Path, str]
    """Files whose rows turned out not to be readable -> why."""
    rows: dict[str, list[Row]] = field(default_factory=dict)
    files: list[ParquetFile] = field(default_factory=list)
    ledger: list[Row] = field(default_factory=list)

    def extend(self, table: str, found: list[Row]) -> None:
        self.rows.setdefault(table, []).extend(found)

    def sessions(self) -> list[str]:
        """Ids of those whose rows are there."""
        return [row["session_id"] for row in self.rows.get("sessions", [])]

    def step_rows(self) -> int:
        """Of all runs."""
        return sum(file.rows for file in self.files if file.table == "steps")

    def note(self, folder: SessionFolder, entry: Entry, problem: str | None) -> None:
        """Keep in the ledger that an entry was seen."""
        self.ledger.append(
            {
                "folder": folder.name,
                "path": entry.relative,
                "size_bytes": entry.size_bytes,
                "mtime_ns": entry.mtime_ns,
                "problem": problem,
            }
        )


def read(folders: list[SessionFolder], unreadable: Mapping[Path, str]) -> Batch:
    """Check every file of the folders; what is wrong is named in the ledger and left out."""
    batch = Batch(unreadable=unreadable)
    for folder in folders:
        for entry in folder.refused:
            batch.note(folder, entry, entry.problem)
        if folder.place.problem is None:
            _read_session(batch, folder)
    return batch


def _read_session(batch: Batch, folder: SessionFolder) -> None:
    """Without a usable session.json none of a session's runs can be placed."""
    try:
        session = _session(batch, folder)
    except BadFileError as error:
        place = folder.session_json or folder.place
        batch.note(folder, place, str(error))
        for entry in folder.entries():
            if entry is not place and entry not in folder.refused:
                batch.note(folder, entry, None)
        return
    assert folder.session_json
    batch.note(folder, folder.session_json, None)
    finished = session.value.get("finished_at") is not None
    refused = {entry.path.parent for entry in folder.refused}
    seen: set[tuple[str, int]] = set()
    for attempt in folder.attempts:
        _read_attempt(batch, folder, attempt, finished=finished, refused=refused, seen=seen)


def _session(batch: Batch, folder: SessionFolder) -> Fields:
    if folder.session_json is None:
        raise BadFileError("has runs but no session.json: put it back, or remove the folder")
    session = read_json(folder.session_json.path)
    row = rows.session_row(session, folder.name)
    planned = rows.planned_rows(session)
    environment = rows.environment_rows(session)
    batch.extend("sessions", [row])
    batch.extend("planned_runs", planned)
    batch.extend("environment", environment)
    return session


def _read_attempt(
    batch: Batch,
    folder: SessionFolder,
    attempt: AttemptFolder,
    *,
    finished: bool,
    refused: set[Path],
    seen: set[tuple[str, int]],
) -> None:
    run: Row | None = None
    problem = None
    try:
        if attempt.run_json:
            run, problem = _run(attempt.run_json.path, folder.name, attempt, seen)
            batch.extend("runs", [run])
        elif finished:
            raise BadFileError("has no run.json: its agent was killed before the end; resume the session")
    except BadFileError as error:
        problem = str(error)
    before = len(batch.files)
    found = [(entry, _read_parquet(batch, entry, run) if run else None) for entry in attempt.parquet]
    told = attempt.place.path in refused or any(left_out for _, left_out in found)
    if run and problem is None and not told:
        problem = _missing_rows(run, batch.files[before:])
    batch.note(folder, attempt.run_json or attempt.place, problem)
    for entry, left_out in found:
        batch.note(folder, entry, left_out)


def _run(
    path: Path, session_id: str, attempt: AttemptFolder, seen: set[tuple[str, int]]
) -> tuple[Row, str | None]:
    """The row, and what is wrong with an attempt that can be loaded all the same."""
    run = read_json(path)
    row = rows.run_row(run, session_id, attempt.run_id, attempt.aside)
    if (attempt.run_id, row["attempt"]) in seen:
        raise BadFileError(f"attempt {row['attempt']} of this run is there twice: remove one of them")
    seen.add((attempt.run_id, row["attempt"]))
    if run.object("outcome").value.get("finalised") is False:
        return row, "its step rows are not Parquet yet and are missing: `bench load` makes them so"
    return row, None


def _missing_rows(run: Row, files: Sequence[ParquetFile]) -> str | None:
    """The problem, where not all step rows are there that its ranks stored; its other rows are loaded all the same."""
    stored = (run["steps_completed"] or 0) * (run["world_size"] or 0)
    there = sum(file.rows for file in files if file.table == "steps")
    if there >= stored:
        return None
    gone = f"{stored - there:,} of its {stored:,} step rows are missing"
    return f"{gone}: a steps.nodeN.parquet is gone or not as it was: {parquet.AGAIN}"


def _read_parquet(batch: Batch, entry: Entry, run: Row) -> str | None:
    """The problem, or null where the file is to be loaded."""
    if entry.path in batch.unreadable:
        return batch.unreadable[entry.path]
    owner = {name: run[name] for name in ("session_id", "run_id", "attempt")}
    try:
        columns, count = parquet.check(entry.path, **owner)
    except BadFileError as error:
        return str(error)
    table = parquet.table_of(entry.path)
    batch.files.append(ParquetFile(table=table, path=str(entry.path), columns=columns, rows=count, **owner))
    return None
