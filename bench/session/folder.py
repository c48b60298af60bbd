"""A session's folder: its lock, its files, and which runs of its plan are done."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import secrets
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from bench.common.errors import InputError
from bench.common.files import read_json, write_json
from bench.plan.find_batch import measured
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import PlannedRun, RunSpec
from bench.records.session_head import PlanEntry, SessionHead, measured_by
from bench.session.recovery import BEGUN, LOCK, run_record, salvage

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,120}")
_FINAL = ("ok", "oom", "skipped")


def utc_now() -> str:
    """ISO 8601 with microseconds, UTC."""
    return datetime.now(UTC).isoformat()


def new_session_id(suite: str) -> str:
    """UTC start, suite, four hex digits: ids sort by time, and two starts in one second differ."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{suite}-{secrets.token_hex(2)}"


class SessionFolder:
    """One folder below the results folder, written by one `bench suite` or `bench run` at a time."""

    def __init__(self, results: Path, session_id: str) -> None:
        if not _NAME.fullmatch(session_id):
            raise InputError(
                f"session {session_id!r} is not a valid session name: use letters, digits, '.', '_' and '-', "
                "and do not begin with '.' or '-'"
            )
        self.session_id = session_id
        self.path = results / session_id

    @property
    def exists(self) -> bool:
        return (self.path / "session.json").exists()

    @property
    def stop_file(self) -> Path:
        """A file that asks the session to stop once it exists; a batch script creates it on an early signal."""
        return self.path / "STOP"

    @property
    def measured_by(self) -> Literal["run", "suite"]:
        """The command of `bench` that resumes the session."""
        return measured_by(self.head())

    def refuse_an_import(self) -> None:
        """Raise InputError if the session was imported: it has no plan to run."""
        if self.exists and (imported := self.head().get("imported")):
            names = ", ".join(file["name"] for file in imported["files"][:3])
            raise InputError(
                f"session {self.session_id} was imported from {names}: it has no runs to resume; `bench summary "
                f"{self.session_id}` shows it, and a new --session measures again"
            )

    def refuse_another_kind(self, command: Literal["run", "suite"]) -> None:
        """Raise InputError if another command of `bench` resumes the session."""
        if (own := self.measured_by) != command:
            kind = {"run": "a command", "suite": "a suite"}[own]
            raise InputError(
                f"session {self.session_id} is of {kind}: `bench {own} --resume {self.session_id}` continues it"
            )

    def lock(self) -> None:
        """Hold the folder's lock until this process ends. Raises InputError if another process holds it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unwritable(error) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"session {self.session_id} is being written by another process: "
                "wait for it, or choose a new --session"
            ) from None

    def create(self, head: SessionHead, plan: tuple[PlannedRun, ...]) -> None:
        """Write session.json and plan.json. Raises InputError if they cannot be written: then no session exists."""
        try:
            self._write_plan(plan)
            entries = [PlanEntry.of(run) for run in plan]
            write_json(self.path / "session.json", replace(head, plan=entries).to_json())
        except OSError as error:
            raise _unwritable(error) from error

    def update(self, **changes: Any) -> None:
        """Replace keys of session.json."""
        path = self.path / "session.json"
        write_json(path, read_json(path) | changes)

    def replan(self, plan: tuple[PlannedRun, ...]) -> None:
        """Write a changed plan before the first of its new runs begins, so that a resume continues with them."""
        self._write_plan(plan)
        self.update(plan=plan_summary(plan))

    def _write_plan(self, plan: tuple[PlannedRun, ...]) -> None:
        write_json(self.path / "plan.json", {"runs": [asdict(run) for run in plan]})

    def note_facts(self, node: int, facts: dict[str, str]) -> None:
        """Add facts that became known during the runs to a node's environment in session.json."""
        environment = self.head()["environment"]
        environment[str(node)] = environment.get(str(node), {}) | facts
        self.update(environment=environment)

    def head(self) -> dict[str, Any]:
        head: dict[str, Any] = read_json(self.path / "session.json")
        return head

    def plan(self) -> tuple[PlannedRun, ...]:
        """The plan from plan.json, so that a resume needs no suite file. Raises InputError if it cannot be read."""
        try:
            runs = read_json(self.path / "plan.json")["runs"]
            return tuple(
                PlannedRun(
                    spec=RunSpec.from_json(run["spec"]),
                    skip_reason=run["skip_reason"],
                    pending=run.get("pending", False),
                )
                for run in runs
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.path / 'plan.json'} cannot be read, so nothing can be resumed: {error}"
            ) from error

    def done(self, plan: tuple[PlannedRun, ...]) -> frozenset[str]:
        """The ids of measured runs that are done. Raises InputError if a run.json cannot be read."""
        files = [self.path / run.spec.run_id / "run.json" for run in measured(plan)]
        return frozenset(file.parent.name for file in files if file.exists() and _state(file)[1])

    def begin(self, spec: RunSpec) -> tuple[Path, int] | None:
        """Create the run's empty folder; returns it with the attempt's number, or null if the run is done.

        The files of an earlier attempt move to attemptN/."""
        folder = self.path / spec.run_id
        before = folder / "run.json"
        if not before.exists() and not salvage(folder):
            folder.mkdir(exist_ok=True)
            return folder, _next_attempt(folder)
        attempt, done = _state(before)
        if done:
            return None
        _set_aside(folder, attempt)
        return folder, attempt + 1

    def note_begun(self, spec: RunSpec, scratch: Path) -> None:
        """Write begun.json, from which a run that never ends can be recovered."""
        begun = {
            "spec": spec.to_json(),
            "scratch": str(scratch),
            "started_at": utc_now(),
            "hostname": platform.node(),
        }
        write_json(self.path / spec.run_id / BEGUN, begun)

    def write_run(self, spec: RunSpec, outcome: RunOutcome, fingerprint: dict[str, str]) -> None:
        """Write run.json, the last file of a run."""
        folder = self.path / spec.run_id
        write_json(folder / "run.json", run_record(spec, outcome, fingerprint))
        (folder / BEGUN).unlink(missing_ok=True)


def _unwritable(error: OSError) -> InputError:
    return InputError(f"results cannot be written: {error}; --results names another folder")


def _next_attempt(folder: Path) -> int:
    """The attempt of a run without run.json: one more than the attempts that were set aside."""
    return 1 + max(
        (int(name) for path in folder.glob("attempt*") if (name := path.name[7:]).isdecimal()), default=-1
    )


def _state(run_json: Path) -> tuple[int, bool]:
    """A run's attempt, and whether it is done. Raises InputError if the file cannot be read."""
    try:
        run = read_json(run_json)
        outcome = RunOutcome.from_json(run["outcome"])
        return int(run["attempt"]), outcome.status in _FINAL and not outcome.skipped_for
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{run_json} cannot be read ({error}): move that folder away to run it again"
        ) from error


def plan_summary(plan: tuple[PlannedRun, ...]) -> list[dict[str, Any]]:
    """The plan as session.json lists it."""
    return [asdict(PlanEntry.of(run)) for run in plan]


def _set_aside(folder: Path, attempt: int) -> None:
    """Move an attempt's files to attemptN/, run.json last: after a crash in between the run is unfinished."""
    aside = folder / f"attempt{attempt}"
    aside.mkdir(exist_ok=True)
    files = [path for path in folder.iterdir() if path.is_file() and path.name != "run.json"]
    for path in [*files, folder / "run.json"]:
        path.rename(aside / path.name)
