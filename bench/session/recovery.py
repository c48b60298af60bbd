"""Recover the rows of a run whose agent died; they are in raw files on the node that it ran on."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.common.errors import InputError
from bench.common.files import copy_whole, raw_files, read_json, write_json
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import RunSpec
from bench.records.session_head import measured_by
from bench.records.vocabulary import SCHEMA_VERSION

BEGUN = "begun.json"
"""In a run's folder from its begin until its run.json exists."""
LOCK = ".lock"
"""Lock file, held by the process that writes the session."""
SCRATCH_PREFIX = "bench-"
"""Name prefix of an agent's folder in the node's temporary folder."""
_OWNER = "session"
"""File in that folder with the path of the session that it belongs to."""


def run_record(spec: RunSpec, outcome: RunOutcome, fingerprint: dict[str, str]) -> dict[str, Any]:
    """The content of run.json."""
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": spec.session_id,
        "run_id": spec.run_id,
        "attempt": spec.attempt,
        "spec": spec.to_json(),
        "outcome": outcome.to_json(),
        "fingerprint": fingerprint,
    }


def salvage(folder: Path) -> bool:
    """Write the run.json of a run that was begun and never ended: interrupted, with the rows that still exist.

    Returns whether there was such a run. Raises InputError if its begun.json cannot be read."""
    path = folder / BEGUN
    if not path.exists():
        return False
    try:
        begun = read_json(path)
        spec = RunSpec.from_json(begun["spec"])
        scratch = Path(begun["scratch"])
        here = begun["hostname"] == platform.node()
        started_at = str(begun["started_at"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read ({error}): move that folder away to run it again") from error
    if here:
        _take_raw(scratch, folder)
    for half_written in folder.glob("*.tmp"):
        half_written.unlink()
    kept = [
        *raw_files(folder),
        *folder.glob("steps.*.parquet"),
    ]  # some were kept by its keeper and other agents
    outcome = RunOutcome(
        status="interrupted",
        error="the agent ended before the run did"
        + ("" if kept else f"; its rows may be in {scratch} on {begun['hostname']}"),
        started_at=started_at,
        finalised=not raw_files(folder),
    )
    write_json(folder / "run.json", run_record(spec, outcome, {}))
    path.unlink()
    return True


def begun_and_never_ended(results: Path) -> list[str]:
    """Runs without run.json in sessions that no process writes, a line each with the remedy."""
    return [
        f"{path.parent}: begun and never ended: `bench {_resume(path.parent.parent)}` keeps its rows"
        for path in sorted(results.glob(f"*/*/{BEGUN}"))
        if not (path.parent / "run.json").exists() and not is_written(path.parent.parent)
    ]


def _resume(session: Path) -> str:
    try:
        command = measured_by(read_json(session / "session.json"))
    except (OSError, ValueError, KeyError, TypeError):  # the load says so
        command = "suite"
    return f"{command} --resume {session.name}"


def is_written(session: Path) -> bool:
    """Whether a process holds the session's lock."""
    if not (session / LOCK).is_file():  # a pipe would block
        return False
    with (session / LOCK).open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextmanager
def agent_scratch() -> Iterator[Path]:
    """An agent's folder in the node's temporary folder; kept after `with` if it has rows that could not be stored."""
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX))
    try:
        yield scratch
    finally:
        if not any(raw_files(run) for run in scratch.glob("*/")):
            shutil.rmtree(scratch, ignore_errors=True)


def mark(scratch: Path, session: Path) -> None:
    """Write into an agent's scratch folder which session it belongs to."""
    (scratch / _OWNER).write_text(str(session.resolve()))


def _take_raw(scratch: Path, folder: Path) -> None:
    """Move this session's raw files here, then remove the dead agent's folder."""
    # begun.json may come from anywhere: only a folder that an agent of this user marked as this session's counts
    owner = scratch.parent / _OWNER
    if not owner.is_file() or owner.is_symlink() or owner.stat().st_uid != os.getuid():
        return
    if not scratch.parent.name.startswith(SCRATCH_PREFIX) or owner.read_text() != str(
        folder.parent.resolve()
    ):
        return
    raws = [path for path in raw_files(scratch) if path.is_file() and not path.is_symlink()]
    for path in raws:
        copy_whole(path, folder / path.name)
    shutil.rmtree(scratch.parent)
