"""Start a session: read the suite, gather the agents, plan, create or reopen the session's folder, and run the plan."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bench.agent.fork_server import WarmServer
from bench.agent.other_python import examine
from bench.agent.placement import slot_warnings
from bench.cluster.gather import Gathered, Gathering
from bench.command.suite import Document
from bench.common.errors import InputError
from bench.common.paths import writable_results_folder
from bench.common.tags import check_tags
from bench.common.terminal import tell
from bench.launch.step import Step
from bench.machine import gpus
from bench.machine.hidden_gpus import gpus_left_out
from bench.machine.slots import detect
from bench.measure.sensors.other_processes import OtherProcesses
from bench.plan.find_batch import measured
from bench.plan.plan import plan
from bench.records.messages import Begin
from bench.records.run_spec import PlannedRun, Slots
from bench.records.session_head import SessionHead
from bench.records.skip_reason import common, kind_of
from bench.records.vocabulary import Pauses, RunOrder
from bench.session import preflight
from bench.session.folder import SessionFolder, new_session_id, utc_now
from bench.session.result import SessionResult, read_result
from bench.session.time_left import TimeLeft
from bench.slurm import allocation
from bench.slurm.job import read_job
from bench.suite.models import ResolvedSuite
from bench.suite.resolve import load_suite, resolve
from bench.suite.selection import Selection

_BUSY_PERCENT = 10.0
"""Use of the CPUs by other processes that is warned of, as the rule busy_machine does after the runs."""


@dataclass(frozen=True, kw_only=True)
class SessionOptions(Selection):
    """The options of `bench suite` and `bench run` by name: the selection of a suite, and where and how to run it."""

    suite: str | None
    """NAME or FILE; null with `resume`."""
    ranks_per_node: int | None
    oversubscribe: bool
    trace: bool
    selfcheck: bool | None
    """Whether to measure recorder overhead; null: as the suite says."""
    results: str | None
    data_root: str | None
    session: str | None
    resume: str | None
    """A session of the same kind, by `measured_by`."""
    tags: tuple[str, ...]
    run_order: RunOrder | None = None
    """Null: random."""
    document: Document | None = None
    """The suite of a command, in place of `suite`."""
    measured_by: Literal["run", "suite"] = "suite"
    """The command of `bench`: for a user's command, or for a suite."""
    python: str | None = None
    """The Python of the ranks; null: this one."""
    reserve: float | None = None
    """Seconds before the end of the allocation that no run may need."""
    pauses: Pauses | None = None
    """With `resume`: what the session's pauses are; null: as it was said before."""

    def __post_init__(self) -> None:
        check_tags(self.tags)


def start(options: SessionOptions, step: Step | None) -> SessionResult:
    """Run a new session of a suite, or the rest of an earlier one; `step` is the Slurm step that this task leads.

    Raises InputError, before anything is written, if it cannot run."""
    from bench.session.runner import run_plan  # with pyarrow, which a plan does not need

    results = writable_results_folder(options.results)
    others = OtherProcesses([os.getpid()])
    with Gathering(step, results, options.ranks_per_node, options.python) as gathering:
        if options.resume is not None:
            folder = SessionFolder(results, options.resume)
            folder.refuse_an_import()
            folder.refuse_another_kind(options.measured_by)
            _refuse_options_of_a_plan(options)
            left = TimeLeft.here(results, options.reserve)
            return resume(folder, gathering.wait(), left, options.pauses)
        suite = _read_suite(options)  # its mistakes are reported before other agents are waited for
        left_out = gpus_left_out(len(gpus.visible()))
        if left_out is not None and any(case.device != "cpu" for case in suite.cases):
            raise InputError(f"{left_out}; --device cpu measures without")
        folder = _new_folder(options, results, suite)
        if folder.exists:
            folder.refuse_an_import()
            begun = folder.head()
            is_other_order = options.run_order not in (None, begun.get("run_order"))
            if suite.to_json() != begun["resolved"] or is_other_order:
                raise InputError(
                    f"session {folder.session_id} was begun with another suite or other options: choose another "
                    f"--session, or finish it as it was with `bench {folder.measured_by} --resume {folder.session_id}`"
                )
            return resume(folder, gathering.wait(), TimeLeft.here(results, options.reserve))
        gathered = gathering.wait()
        created_at = utc_now()
        runs = _plan(options, suite, gathered.slots, folder)
        on_this_node = [offer for offer in gathered.offers if offer.node == gathered.own.node]
        if len(on_this_node) == 1:  # several agents of a node would warn of each other
            warn_of_other_work(others)
        time_left = TimeLeft.here(results, options.reserve)
        server, runs = _start_server(runs, gathered)
        folder.lock()
        if folder.exists:
            raise InputError(
                f"session {folder.session_id} exists already: `bench {folder.measured_by} --resume "
                f"{folder.session_id}` continues it"
            )
        head = SessionHead(
            session_id=folder.session_id,
            suite=suite.name,
            title=suite.title,
            why=suite.why,
            created_at=created_at,
            quick=suite.quick,
            run_order=options.run_order or "random",
            tags=list(options.tags),
            resolved=suite.to_json(),
            **_machine(folder, gathered),
        )
        folder.create(head, runs)
        return run_plan(folder, runs, gathered, server, time_left)


def resume(
    session: SessionFolder, gathered: Gathered, time_left: TimeLeft, pauses: Pauses | None = None
) -> SessionResult:
    """Run what is left of a session's plan. Raises InputError if the machine is smaller than the one of the plan."""
    from bench.session.runner import run_plan

    runs = session.plan()
    before = session.head()
    if pauses is not None:
        session.update(pauses=pauses)
    _refuse_a_smaller_machine(session.session_id, before["slots"], gathered.slots)
    if before["finished_at"] is not None and len(session.done(runs)) == len(measured(runs)):
        sys.stderr.write("every run of its plan is done\n")
        return read_result(session, runs)
    session.lock()
    runs = session.plan()  # another process may have held the lock, and changed the plan
    server, runs = _start_server(runs, gathered)
    session.replan(runs)  # plan.json and session.json agree again
    before = session.head()
    was = {"at": before["created_at"], "environment": before["environment"], "command": before["command"]}
    session.update(finished_at=None, begun=[*before.get("begun", []), was], **_machine(session, gathered))
    return run_plan(session, runs, gathered, server, time_left)


def planned_runs(options: SessionOptions) -> tuple[tuple[PlannedRun, ...], Path]:
    """The plan on this machine, and the results folder to estimate its time from.

    Raises InputError if nothing of it can run here."""
    slots, suite = detect(options.ranks_per_node), _read_suite(options)
    if options.python is not None:
        examine(options.python)
    results = writable_results_folder(options.results)
    if options.resume is not None:
        folder = SessionFolder(results, options.resume)
    else:
        folder = _new_folder(options, results, suite)
    runs = _plan(options, suite, slots, folder)
    _refuse_a_plan_of_skips(runs)
    preflight.check_commands(runs)
    return runs, results


def _read_suite(options: SessionOptions) -> ResolvedSuite:
    if options.document is not None:
        return resolve(options.document.root, Path("bench run"), options, name=options.document.name)
    assert options.suite is not None, "the command line refuses it"
    suite = load_suite(options.suite, options)
    for note in suite.notes:
        tell(f"bench: {note}")
    return suite


def _new_folder(options: SessionOptions, results: Path, suite: ResolvedSuite) -> SessionFolder:
    return SessionFolder(results, new_session_id(suite.name) if options.session is None else options.session)


def _plan(
    options: SessionOptions, suite: ResolvedSuite, slots: Slots, folder: SessionFolder
) -> tuple[PlannedRun, ...]:
    return plan(
        suite,
        slots,
        folder.session_id,
        oversubscribe=options.oversubscribe,
        data_root=None if options.data_root is None else str(Path(options.data_root).resolve()),
        tags=options.tags,
        trace=options.trace,
        selfcheck=options.selfcheck,
        run_order=options.run_order or "random",
    )


def _start_server(
    runs: tuple[PlannedRun, ...], gathered: Gathered
) -> tuple[WarmServer, tuple[PlannedRun, ...]]:
    """The process that ranks are forked from, after every workload of the plan was prepared in it once, and the plan,
    without the runs that its torch cannot do."""
    _refuse_a_plan_of_skips(runs)
    specs = [run.spec for run in runs if run.skip_reason is None]
    loads_torch = not all(spec.runs_a_command for spec in specs)
    uses_gpus = any(spec.device_type == "cuda" for spec in specs)
    gathered.announce_begin(Begin(loads_torch=loads_torch, uses_gpus=uses_gpus))
    if loads_torch:
        sys.stderr.write("loading torch once for all runs ...\n")
    python = gathered.facts[gathered.own.node].get("ranks_python")
    server = WarmServer(loads_torch=loads_torch, python=python)
    server.start()
    runs = preflight.check(server, runs, gathered.own.gpus)
    _refuse_a_plan_of_skips(runs)
    return server, runs


def ranks_python(session: SessionFolder) -> str | None:
    """The Python that the ranks of a session ran in, if it was another one."""
    environment: dict[str, dict[str, str]] = session.head()["environment"]
    return next((facts["ranks_python"] for facts in environment.values() if "ranks_python" in facts), None)


def _machine(session: SessionFolder, gathered: Gathered) -> dict[str, Any]:
    """Slots and environment for session.json; prints a warning if Slurm gave an odd allocation."""
    facts = {str(node): dict(facts) for node, facts in sorted(gathered.facts.items())}
    own = facts[str(gathered.own.node)]
    own |= allocation.facts(os.environ, read_job(session.path, os.environ.get("SLURM_JOB_ID", "")))
    gpus = sum(int(found.get("slurm_gpus_on_node", 0)) for found in facts.values())
    warnings = [*slot_warnings(gathered.offers), *allocation.mismatches(own, gathered.slots, gpus)]
    if warnings:
        own["warnings"] = "; ".join(warnings)
        for warning in warnings:
            tell(f"bench: {warning}")
    return {"command": sys.argv, "slots": asdict(gathered.slots), "environment": facts}


def warn_of_other_work(others: OtherProcesses) -> None:
    """Warn if this node is busy, before anything is measured. The samples tell later how busy all nodes were."""
    percent = others.read_after(0.3)
    if percent is not None and percent >= _BUSY_PERCENT:
        tell(
            f"bench: other processes use {percent:.0f} % of the CPUs available here: stop them, or the session "
            "measures a busy machine"
        )


def _refuse_a_plan_of_skips(runs: tuple[PlannedRun, ...]) -> None:
    if all(run.skip_reason is not None for run in runs):
        reasons: dict[tuple[str, str], list[str]] = {}
        for run in runs:
            if run.skip_reason is not None:
                kind = (run.spec.case_name, kind_of(run.skip_reason))
                reasons.setdefault(kind, []).append(run.skip_reason)
        cases: dict[str, list[str]] = {}
        for (case, _), alike in sorted(reasons.items()):
            cases.setdefault(common(alike), []).append(case)
        lines = (f"{', '.join(names)}: {reason}" for reason, names in cases.items())
        raise InputError("\n  ".join(["nothing of this plan can run here:", *lines]))


def _refuse_a_smaller_machine(session_id: str, then: Mapping[str, Any], slots: Slots) -> None:
    """A plan is made for a number of slots: on fewer, ranks would share cores without a mark in the results."""
    for key in ("nodes", "slots_per_node", "cpus_per_node", "cuda_devices_per_node"):
        if getattr(slots, key) < then[key]:
            raise InputError(
                f"session {session_id} was planned for {key} = {then[key]}, here it is {getattr(slots, key)}: "
                "resume it where it was begun, or begin a new session"
            )


def _refuse_options_of_a_plan(options: SessionOptions) -> None:
    """A resumed session keeps its plan: an option that would change it must not be ignored silently."""
    given = {
        "--quick": options.quick, "--case": options.cases, "--set": options.settings, "--vary": options.vary,
        "--world": options.world, "--repeats": options.repeats, "--device": options.device, "--tag": options.tags,
        "--data": options.data_root, "--oversubscribe": options.oversubscribe, "--trace": options.trace,
        "--selfcheck": options.selfcheck is True, "--no-selfcheck": options.selfcheck is False,
        "--order": options.run_order, "NAME|FILE": options.suite, "--session": options.session,
    }  # fmt: skip
    if changed := [name for name, value in given.items() if value]:
        raise InputError(
            f"session {options.resume} is resumed with the plan it began with: leave out {', '.join(changed)}, "
            "or begin a new session"
        )
