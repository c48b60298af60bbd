"""What `bench suite` does: a session from the suite file to the answer."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench import lost_image, program
from bench.errors import OF_THE_MACHINE, InputError
from bench.files import read_json
from bench.launch import preflight
from bench.launch.execute import Execution
from bench.launch.gathering import Gathered
from bench.launch.host import UnstoredError
from bench.launch.offer import odd
from bench.launch.progress import display
from bench.launch.salvage import BEGUN, salvage
from bench.launch.session import SessionFolder, utc_now
from bench.launch.stop import StopRequest
from bench.launch.time_left import TimeLeft
from bench.launch.warm import WarmServer
from bench.plan_batch import measured
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import PlannedRun, Slots
from bench.records.session_head import SessionHead
from bench.slurm import allocation
from bench.slurm.job import read_job
from bench.suite.nearest import did_you_mean

_BENCH = program.called()
"""Looked for now: by the end of a session that was told to stop, its image may be gone."""
_FAILED = ("failed", "timeout", "interrupted")


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a session ended."""

    session_id: str
    folder: Path
    statuses: dict[str, int]
    """Runs that are measured, by status; runs that were never begun count as `not run`."""
    failed_probes: int = 0
    """Probing runs that ended otherwise than by fitting or not: one whose micro-batch does not fit is an answer."""
    stopped_by: int | None = None
    """128 + signal where it was told to stop."""
    stopped_reason: str | None = None
    """By what: `stopped by SIGTERM`."""
    lost: tuple[str, ...] = ()
    """Agents of the step that ended before the session did, and why."""
    left_for_time: int = 0
    """Runs that did not fit into the rest of the allocation."""

    @property
    def resume_command(self) -> str:
        return self.command("suite", "--resume", self.session_id, "--results", str(self.folder.parent))

    @staticmethod
    def command(*arguments: str) -> str:
        """A command line that can be copied: `bench` where a shell finds it, else as this one was called."""
        return f"{_BENCH} {shlex.join(arguments)}"

    @property
    def exit_code(self) -> int:
        if self.stopped_by is not None:
            return self.stopped_by
        failed = any(self.statuses.get(status) for status in ("oom", *_FAILED))
        return 1 if failed or self.failed_probes or self.lost else 0


def begin(
    session: SessionFolder,
    head: SessionHead,
    plan: tuple[PlannedRun, ...],
    gathered: Gathered,
    time_left: TimeLeft,
) -> Ended:
    """Check the plan against this machine, then create the session and run it."""
    server = _warm(plan, gathered)
    session.lock()
    if session.exists:
        raise InputError(
            f"session {session.session_id} exists already: --resume {session.session_id} continues it"
        )
    session.create(replace(head, **_machine(session, gathered)), plan)
    return _execute(session, plan, gathered, server, time_left)


def resume(session: SessionFolder, gathered: Gathered, time_left: TimeLeft) -> Ended:
    """Run what is left of a session's plan."""
    if not session.exists:
        others = [
            path.parent.name for path in sorted(session.path.parent.glob("*/session.json"), reverse=True)
        ]
        near = did_you_mean(session.session_id, others)
        raise InputError(f"no session {session.session_id} in {session.path.parent}{near}")
    plan = session.plan()
    _refuse_a_smaller_machine(session, gathered.slots)
    if session.head()["finished_at"] is not None and session.done(plan) == len(measured(plan)):
        sys.stderr.write("every run of its plan is done\n")
        return _ended(session, plan)
    server = _warm(plan, gathered)
    session.lock()
    plan = session.plan()  # as who held the lock left it
    session.replan(plan)  # both files say the same again
    before = session.head()
    was = {"at": before["created_at"], "environment": before["environment"], "command": before["command"]}
    session.update(finished_at=None, begun=[*before.get("begun", []), was], **_machine(session, gathered))
    return _execute(session, plan, gathered, server, time_left)


def _refuse_a_smaller_machine(session: SessionFolder, slots: Slots) -> None:
    """The plan was made for the slots of then: with fewer, ranks would share cores and nobody would say so."""
    then = session.head()["slots"]
    for key in ("nodes", "slots_per_node", "cpus_per_node", "cuda_devices_per_node"):
        if getattr(slots, key) < then[key]:
            raise InputError(
                f"session {session.session_id} was planned for {key} = {then[key]}, here it is {getattr(slots, key)}: "
                "resume it where it was begun, or begin a new session"
            )


def refuse_a_plan_of_skips(plan: tuple[PlannedRun, ...]) -> None:
    """Raises InputError with every reason where nothing of a plan can run here."""
    if all(run.skip_reason is not None for run in plan):
        reasons = sorted({f"{run.spec.case_name}: {run.skip_reason}" for run in plan})
        raise InputError("\n  ".join(["nothing of this plan can run here:", *reasons]))


def _warm(plan: tuple[PlannedRun, ...], gathered: Gathered) -> WarmServer:
    refuse_a_plan_of_skips(plan)
    gathered.say_that_it_begins()
    sys.stderr.write("loading torch once for all runs ...\n")
    server = WarmServer()
    server.start()
    preflight.check(server, plan)
    return server


def _machine(session: SessionFolder, gathered: Gathered) -> dict[str, Any]:
    facts = {str(node): dict(facts) for node, facts in sorted(gathered.facts.items())}
    own = facts[str(gathered.own.node)]
    own |= allocation.facts(os.environ, read_job(session.path, os.environ.get("SLURM_JOB_ID", "")))
    gpus = sum(int(found.get("slurm_gpus_on_node", 0)) for found in facts.values())
    warnings = [*odd(gathered.offers), *allocation.mismatches(own, gathered.slots, gpus)]
    if warnings:
        own["warnings"] = "; ".join(warnings)
        sys.stderr.write("".join(f"bench: {warning}\n" for warning in warnings))
    return {"command": sys.argv, "slots": asdict(gathered.slots), "environment": facts}


def _execute(
    session: SessionFolder,
    plan: tuple[PlannedRun, ...],
    gathered: Gathered,
    server: WarmServer,
    time_left: TimeLeft,
) -> Ended:
    with StopRequest() as stop, _naming_the_remedy(session):
        shown = display(sys.stderr, session.done(plan))
        execution = Execution(session, gathered, server, shown, stop, time_left)
        with _stop_if_image_lost(session, stop):
            execution.run(plan)
        session.stop_file.unlink(missing_ok=True)  # obeyed, or too late
        if execution.learnt:
            session.note_facts(gathered.own.node, execution.learnt)
        plan = session.plan()  # with the repeats that measure.until added
        left = any(outcome.skipped_for for outcome in _outcomes(session.path, plan) if outcome)
        if not stop.requested and not left:
            session.update(finished_at=utc_now())
    # after `with`: a signal that came until then is no longer the program's to handle
    return replace(
        _ended(session, plan),
        stopped_by=stop.exit_code if stop.requested else None,
        stopped_reason=stop.reason if stop.requested else None,
        lost=execution.lost,
    )


@contextmanager
def _naming_the_remedy(session: SessionFolder) -> Iterator[None]:
    """Where results can no longer be written the session ends: what was measured after it could be lost."""
    resume = f"once that is mended, `{_BENCH} suite --resume {session.session_id}` here"
    try:
        yield
    except UnstoredError as error:
        raise InputError(f"{error}: {resume} stores them and goes on") from error
    except OSError as error:
        if error.errno not in OF_THE_MACHINE:
            raise
        raise InputError(
            f"the session cannot be written: {error}; what was measured is kept: {resume} goes on"
        ) from error


@contextmanager
def _stop_if_image_lost(session: SessionFolder, stop: StopRequest) -> Iterator[None]:
    """A failed import or read is the beginning of a stop if the image is gone: its signal is on its way."""
    try:
        with lost_image.awaiting_its_signal():
            yield
    except (ImportError, OSError) as error:
        if not lost_image.is_gone():
            raise
        for begun in session.path.glob(f"*/{BEGUN}"):
            salvage(begun.parent)
        if not stop.requested:
            raise InputError(
                f"the container's image can no longer be read: {error}; what was measured is kept: continue with "
                f"`{_ended(session, session.plan()).resume_command}`"
            ) from error


def _ended(session: SessionFolder, plan: tuple[PlannedRun, ...]) -> Ended:
    """What its files say."""
    outcomes = _outcomes(session.path, measured(plan))
    probes = _outcomes(session.path, tuple(run for run in plan if run.spec.probe))
    return Ended(
        session_id=session.session_id,
        folder=session.path,
        statuses=dict(Counter(outcome.status if outcome else "not run" for outcome in outcomes)),
        failed_probes=sum(outcome is not None and outcome.status in _FAILED for outcome in probes),
        left_for_time=sum(outcome is not None and outcome.skipped_for == "time" for outcome in outcomes),
    )


def _outcomes(folder: Path, plan: tuple[PlannedRun, ...]) -> list[RunOutcome | None]:
    """Null for a run that was never begun."""
    files = [folder / run.spec.run_id / "run.json" for run in plan]
    return [RunOutcome.from_json(read_json(path)["outcome"]) if path.exists() else None for path in files]
