"""List a results folder: sessions, their runs, earlier attempts and Parquet files. No file is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from analysis.errors import NO_RESULTS, AnalysisError
from bench.records.parquet_tables import PARQUET_TABLES

_ATTEMPT = re.compile(r"attempt(\d+)")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file, a folder, or an entry that must not be opened."""

    path: Path
    relative: str
    """Relative to the results folder, with forward slashes; bytes that are not UTF-8 are written `\\xff`."""
    size_bytes: int | None = None
    """None for anything but a regular file."""
    mtime_ns: int | None = None
    problem: str | None = None
    """Why it must not be opened."""


@dataclass(frozen=True, kw_only=True)
class AttemptFolder:
    """A run's folder, or that of an earlier attempt inside it."""

    run_id: str
    """The run folder's name."""
    aside: int | None
    """N of `attemptN`; None for the run's own folder, which holds the last attempt."""
    place: Entry
    run_json: Entry | None
    parquet: list[Entry]


@dataclass(kw_only=True)
class SessionFolder:
    """A session's folder."""

    name: str
    place: Entry
    session_json: Entry | None = None
    attempts: list[AttemptFolder] = field(default_factory=list)
    refused: list[Entry] = field(default_factory=list)
    """Links that lead outside, entries that are not regular files, and names that are not UTF-8."""

    def entries(self) -> list[Entry]:
        """All entries whose size or time shows whether the session has changed."""
        own = self.session_json or self.place
        runs = [
            entry
            for attempt in self.attempts
            for entry in (attempt.run_json or attempt.place, *attempt.parquet)
        ]
        return [own, *runs, *self.refused]


def discover(results: Path) -> list[SessionFolder]:
    """The sessions by name. Raises AnalysisError if there is no such folder."""
    if not results.is_dir():
        raise AnalysisError(f"{results}: {NO_RESULTS}")
    root = results.resolve()
    found = [_session(root, path) for path in sorted(root.iterdir()) if _may_be_session(path)]
    return [folder for folder in found if folder.session_json or folder.attempts or folder.refused]


def table_of(parquet: Path) -> str:
    """The table that a Parquet file is named after."""
    return parquet.name.split(".")[0]


def _may_be_session(path: Path) -> bool:
    """Whether the path is a visible folder. A hidden one is a session that is still being imported."""
    return path.is_dir() and not path.name.startswith(".")


def _session(root: Path, path: Path) -> SessionFolder:
    entry = _entry(root, path)
    folder = SessionFolder(name=entry.relative, place=entry)
    if entry.problem:
        folder.refused.append(entry)
        return folder
    for child in sorted(path.iterdir()):
        if child.name == "session.json":
            folder.session_json = _accept(root, child, folder)
        elif child.is_dir() and _accept(root, child, folder):
            folder.attempts.extend(_attempts(root, child, folder))
    return folder


def _attempts(root: Path, run: Path, folder: SessionFolder) -> Iterator[AttemptFolder]:
    """The earlier attempts of a run, then its own folder; folders without result files are left out, and so are Parquet
    files of other tables, which another version of scalebench wrote."""
    for child in sorted(run.iterdir()):
        match = _ATTEMPT.fullmatch(child.name)
        if match and child.is_dir() and _accept(root, child, folder):
            yield from _attempt(root, child, run.name, int(match[1]), folder)
    yield from _attempt(root, run, run.name, None, folder)


def _attempt(
    root: Path, path: Path, run_id: str, aside: int | None, folder: SessionFolder
) -> Iterator[AttemptFolder]:
    files = sorted(p for p in path.iterdir() if p.suffix == ".parquet" and table_of(p) in PARQUET_TABLES)
    parquet = [entry for file in files if (entry := _accept(root, file, folder))]
    run_json = path / "run.json"
    named = _accept(root, run_json, folder) if run_json.exists() or run_json.is_symlink() else None
    if named or parquet:
        place = Entry(path=path, relative=path.relative_to(root).as_posix())
        yield AttemptFolder(run_id=run_id, aside=aside, place=place, run_json=named, parquet=parquet)


def _accept(root: Path, path: Path, folder: SessionFolder) -> Entry | None:
    """The entry; None if it is refused. Refused entries are added to `folder.refused`."""
    entry = _entry(root, path)
    if entry.problem:
        folder.refused.append(entry)
        return None
    return entry


def _entry(root: Path, path: Path) -> Entry:
    """Look at a file or folder. A link is followed only if it stays inside the results folder."""
    name = path.relative_to(root).as_posix()
    relative = os.fsencode(name).decode(errors="backslashreplace")
    if relative != name:
        return Entry(path=path, relative=relative, problem="its name is not valid UTF-8: rename it")
    if path.is_symlink() and (problem := _problem_of_link(root, path)):
        return Entry(path=path, relative=relative, problem=problem)
    if path.is_dir():
        return Entry(path=path, relative=relative)
    if not path.is_file():
        return Entry(path=path, relative=relative, problem="not a regular file: remove it")
    stat = path.stat()
    return Entry(path=path, relative=relative, size_bytes=stat.st_size, mtime_ns=stat.st_mtime_ns)


def _problem_of_link(root: Path, link: Path) -> str | None:
    try:
        is_inside = link.resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return "a link that leads to itself: remove it"
    return None if is_inside else "a link that leads outside the results folder: copy the files here instead"
