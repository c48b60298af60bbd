"""How a session ended, read from its files: for the exit code and the last lines of `bench suite` and `bench run`."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.common import paths
from bench.common.files import read_json
from bench.plan.find_batch import measured
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import PlannedRun
from bench.session.folder import SessionFolder

BENCH = paths.called()
"""How this program was called. Found at import: when a session is stopped, its container's image may be gone."""
_FAILED = ("failed", "timeout", "interrupted")


@dataclass(frozen=True, kw_only=True)
class SessionResult:
    """How a session ended."""

    session_id: str
    folder: Path
    measured_by: Literal["run", "suite"]
    """The command of `bench` that resumes it."""
    statuses: dict[str, int]
    """Number of measured runs by status; runs that never began count as `not run`."""
    failed_probes: int = 0
    """Probing runs that failed. A micro-batch that does not fit is an answer, not a failure."""
    stopped_by: int | None = None
    """128 + signal number if the session was stopped."""
    stopped_reason: str | None = None
    """Such as `stopped by SIGTERM`."""
    lost: tuple[str, ...] = ()
    """Agents of the Slurm step that ended before the session did, and why."""
    left_for_time: int = 0
    """Runs that did not fit into the rest of the allocation."""
    left_for_command: int = 0
    """Runs of a command whose first run ended as each would."""

    @property
    def resume_command(self) -> str:
        return self.command(
            self.measured_by, "--resume", self.session_id, "--results", str(self.folder.parent)
        )

    @staticmethod
    def command(*arguments: str) -> str:
        """A command line to copy: `bench` if a shell finds it, else the way this program was called."""
        return f"{BENCH} {shlex.join(arguments)}"

    @property
    def exit_code(self) -> int:
        if self.stopped_by is not None:
            return self.stopped_by
        failed = any(self.statuses.get(status) for status in ("oom", *_FAILED))
        return 1 if failed or self.failed_probes or self.lost else 0


def read_result(session: SessionFolder, plan: tuple[PlannedRun, ...]) -> SessionResult:
    """The result of a session that nothing stopped, from the run.json files of its plan."""
    outcomes = read_outcomes(session, measured(plan))
    probes = read_outcomes(session, tuple(run for run in plan if run.spec.probe))
    return SessionResult(
        session_id=session.session_id,
        folder=session.path,
        measured_by=session.measured_by,
        statuses=dict(Counter(outcome.status if outcome else "not run" for outcome in outcomes)),
        failed_probes=sum(outcome is not None and outcome.status in _FAILED for outcome in probes),
        left_for_time=sum(outcome is not None and outcome.skipped_for == "time" for outcome in outcomes),
        left_for_command=sum(
            outcome is not None and outcome.skipped_for == "command" for outcome in outcomes
        ),
    )


def read_outcomes(session: SessionFolder, plan: tuple[PlannedRun, ...]) -> list[RunOutcome | None]:
    """One per run; null for a run that never began."""
    files = [session.path / run.spec.run_id / "run.json" for run in plan]
    return [RunOutcome.from_json(read_json(path)["outcome"]) if path.exists() else None for path in files]
