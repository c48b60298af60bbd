"""Run a session's plan on its agents: host or skip each run, store how it ended, and show the progress."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from bench import strategies
from bench.agent.fork_server import WarmServer
from bench.agent.run import OF_THE_SLOWEST, Agent, UnstoredError, largest
from bench.cluster.agents import Agents
from bench.cluster.gather import Gathered
from bench.command import facts as command_facts
from bench.common import unreadable_image
from bench.common.errors import OF_THE_MACHINE, InputError
from bench.machine import user_code
from bench.machine.cgroup import share_bytes
from bench.machine.fingerprint import fingerprint
from bench.machine.user_code import UserCode
from bench.measure.profile.profiled_step import first_problem
from bench.plan.find_batch import measured, pending_sizes
from bench.plan.plan import in_running_order, most_runs
from bench.records.messages import Report
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import PlannedRun, RunSpec
from bench.session.batch_search import BatchSearch
from bench.session.count_flops import Flops, FlopsCounter
from bench.session.folder import SessionFolder, utc_now
from bench.session.progress import display
from bench.session.recovery import BEGUN, agent_scratch, mark, salvage
from bench.session.repeat_until import Rounds
from bench.session.result import BENCH, SessionResult, read_outcomes, read_result
from bench.session.stop import StopRequest
from bench.session.time_left import TimeLeft


def run_plan(
    session: SessionFolder,
    plan: tuple[PlannedRun, ...],
    gathered: Gathered,
    server: WarmServer,
    time_left: TimeLeft,
) -> SessionResult:
    """Run every run of the plan that is not done, and those that find_batch and measure.until add.

    Raises InputError if results can no longer be written: later measurements could be lost."""
    with StopRequest() as stop, _naming_the_remedy(session):
        runner = Runner(session, gathered, server, stop, time_left, done=session.done(plan))
        with _stop_if_image_lost(session, stop):
            runner.run(plan)
        session.stop_file.unlink(missing_ok=True)  # was obeyed, or came too late
        if runner.found_facts:
            session.note_facts(gathered.own.node, runner.found_facts)
        plan = session.plan()  # with the runs that were added
        left = any(outcome.skipped_for for outcome in read_outcomes(session, plan) if outcome)
        if not stop.requested and not left:
            session.update(finished_at=utc_now())
    # after `with`, which handles every signal up to here
    return replace(
        read_result(session, plan),
        stopped_by=stop.exit_code if stop.requested else None,
        stopped_reason=stop.reason if stop.requested else None,
        lost=runner.lost,
    )


class Runner:
    """One session's plan, on every agent that has gathered."""

    def __init__(
        self,
        session: SessionFolder,
        gathered: Gathered,
        server: WarmServer,
        stop: StopRequest,
        time_left: TimeLeft,
        *,
        done: Collection[str],
    ) -> None:
        self._session = session
        self._gathered = gathered
        self._server = server
        self._stop = stop
        self._time_left = time_left
        self._display = display(sys.stderr, done, session.path.parent)
        self._search = BatchSearch(session.path, share_bytes)
        self._flops = FlopsCounter(server, stop)
        self._trains_a_model: dict[str, bool] = {}
        """By strategy. Looked up before the first run: a stopped session may not be able to import a strategy."""
        self._user_code: dict[tuple[Path, ...], UserCode] = {}
        """By the run's files. Looked up once, because git may take seconds in a large repository."""
        self._commands: dict[str, bool] = {}
        """By the options of a command that has run: whether its first run ended as each of its runs would."""
        self.found_facts: dict[str, str] = {}
        """Facts that no agent knew before the runs: NCCL's version, the transport by placement, and the repository of
        the user's code."""
        self.lost: tuple[str, ...] = ()
        """Which agents were lost, and why."""

    def run(self, plan: tuple[PlannedRun, ...]) -> None:
        """Search batches, run the plan, then add repeats round by round, until all is done or a stop is requested."""
        self._trains_a_model = {
            name: strategies.load(name).trains for name in {run.spec.strategy for run in plan}
        }
        runs = measured(plan)
        self._display.session_begins(self._session.session_id, in_running_order(runs), most_runs(runs))
        with agent_scratch() as scratch:
            mark(scratch, self._session.path)
            agent = Agent(self._server, self._stop, scratch, self._gathered.own.task)
            self._agents = Agents(self._gathered, agent, self._stop, self._session.stop_file)
            try:
                self._agents.await_ready()
                plan = self._find_batches(plan)
                probes = tuple(run for run in plan if run.spec.probe)
                rounds = Rounds(self._session.path, self._session.head().get("run_order") or "fixed")
                runs, number = measured(plan), 0
                while number < len(runs):
                    for planned in in_running_order(runs)[number:]:
                        number += 1
                        if self._told_to_stop():
                            return
                        self._run_one(planned, number)
                    if not self._stop.requested and (more := rounds.further(runs)):
                        runs = (*runs, *more)
                        self._session.replan((*probes, *runs))
                        self._display.round_begins(more)
            finally:
                agent.stop()
                if not self._stop.terminal_gone:
                    self._display.session_ends()
                self.lost = tuple(self._agents.lost.values())

    def _find_batches(self, plan: tuple[PlannedRun, ...]) -> tuple[PlannedRun, ...]:
        """The plan with the batch of every size whose largest micro-batch is known now.

        Probing runs are written into the plan, before its other runs, before they begin: a resume continues them."""
        sizes = pending_sizes(plan)
        if not sizes:
            return plan
        self._display.search_begins(len(sizes))
        while probes := self._search.next(plan):
            known = {run.spec.run_id for run in plan}
            new = [probe for probe in probes if probe.spec.run_id not in known]
            plan = (*(run for run in plan if run.spec.probe), *new, *measured(plan))
            self._session.replan(plan)
            for probe in probes:
                if self._told_to_stop():
                    return plan
                self._run_one(probe, 0)
        self._display.search_ends(self._search.sentences(plan))
        plan = self._search.settle(plan)
        self._session.replan(plan)
        return plan

    def _told_to_stop(self) -> bool:
        self._stop.look_for(self._session.stop_file)
        return self._stop.requested

    def _run_one(self, planned: PlannedRun, number: int) -> None:
        """Run or skip it, unless it is done, and write its run.json. Probing runs have the number 0."""
        begun = self._session.begin(planned.spec)
        if begun is None:
            return
        folder, attempt = begun
        spec = replace(planned.spec, attempt=attempt)
        self._display.run_begins(spec, number)
        skipped = self._skip(planned)
        if skipped is not None:
            outcome, rank_facts, nodes = skipped, dict[str, Any](), [self._gathered.own.node]
            own = None
        else:
            # before it runs: a node that is lost meanwhile still counts as a host
            nodes = self._agents.nodes(spec)
            flops = self._count_flops(spec)
            own = self._code_of(spec)
            self._session.note_begun(spec, self._agents.run_scratch(spec))
            started_at, began_ns = utc_now(), time.perf_counter_ns()
            reports = self._agents.run(spec, folder, self._display.step)
            if reports[0].fault is not None and not self._stop.requested:
                self._server.start()  # the fault may have ended the server, too; if not, it answers at once
            elapsed_s = (time.perf_counter_ns() - began_ns) / 1e9
            self._time_left.took(spec, elapsed_s)
            self._commands.setdefault(_command_of(spec), self._ends_alike(reports))
            rank_facts = _merged_facts(reports)
            if rank_facts.get("transport"):
                self.found_facts[f"transport_{spec.nodes}x{spec.ranks_per_node}"] = rank_facts["transport"]
            self.found_facts |= {key: rank_facts[key] for key in ("nccl", "rccl") if rank_facts.get(key)}
            outcome = replace(
                self._outcome(spec, reports, rank_facts, flops), started_at=started_at, elapsed_s=elapsed_s
            )
            if rank_facts["commands"]:
                spec = command_facts.with_the_batch(spec, rank_facts["commands"])
                outcome = replace(outcome, **command_facts.of_run(spec, rank_facts["commands"]))
        facts = [self._gathered.facts[node] for node in nodes]
        self._session.write_run(spec, outcome, fingerprint(spec, facts, rank_facts, own))
        if not self._stop.terminal_gone:
            self._display.run_ends(spec, outcome)

    def _skip(self, planned: PlannedRun) -> RunOutcome | None:
        """The outcome of a run that cannot begin, with the reason; null if it can."""
        if planned.pending and planned.skip_reason is None:  # find_batch found nothing for it
            return replace(self._search.outcome_without_batch(planned), started_at=utc_now(), elapsed_s=0.0)
        skipped_for: Literal["time", "agents", "command"] | None = None
        reason = planned.skip_reason
        if reason is None and self._commands.get(_command_of(planned.spec)):
            reason, skipped_for = "it would end as the first run of the command", "command"
        if reason is None and (reason := self._time_left.too_short_for(planned.spec)):
            skipped_for = "time"
        if reason is None and (reason := self._agents.cannot_run(planned.spec)):
            skipped_for = "agents"
        if reason is None:
            return None
        return RunOutcome(
            status="skipped", error=reason, skipped_for=skipped_for, started_at=utc_now(), elapsed_s=0.0
        )

    def _ends_alike(self, reports: list[Report]) -> bool:
        """Whether each run of the command would end as this one. A resumed session runs them all."""
        fault, took_steps = reports[0].fault, any(any(report.rows.values()) for report in reports)
        is_resumed = bool(self._session.head().get("begun"))
        return fault is not None and fault.is_of_the_command and not took_steps and not is_resumed

    def _code_of(self, spec: RunSpec) -> UserCode | None:
        files = tuple(map(Path, spec.custom_files))
        if not files:
            return None
        if files not in self._user_code:
            found = self._user_code[files] = user_code.of_files(files)
            self.found_facts |= found.repository
        return self._user_code[files]

    def _count_flops(self, spec: RunSpec) -> Flops:
        if spec.runs_a_command:
            return Flops(per_step=None)
        new = not self._flops.is_known(spec)
        flops = self._flops.of(spec)
        if new and flops.note and not self._stop.requested:
            self._display.note(f"case {spec.case_name}: FLOPs were not counted: {flops.note}")
        return flops

    def _outcome(
        self, spec: RunSpec, reports: list[Report], rank_facts: dict[str, Any], flops: Flops
    ) -> RunOutcome:
        """How a run went, from the reports of the agents that hosted it."""
        fault = reports[0].fault
        own_facts = self._gathered.facts[self._gathered.own.node]
        device_name = (
            own_facts.get("cpu_model") if spec.device_type == "cpu" else rank_facts.get("device_name")
        )
        rows = [count for report in reports for count in report.rows.values()]
        return RunOutcome(
            status="ok" if fault is None else fault.status,
            error=None if fault is None else fault.error,
            failed_rank=None if fault is None else fault.rank,
            failed_node=None if fault is None else fault.node,
            slurm_job_id=own_facts.get("SLURM_JOB_ID"),
            device_name=device_name,
            data_source=spec.data.source if self._trains_a_model[spec.strategy] else None,
            setup_s=reports[0].setup_s,
            **{name: rank_facts.get(name) for name in (*_FACTS_OF_RANKS, *OF_THE_SLOWEST)},
            flops_per_step=flops.per_step,
            flops_note=flops.note,
            steps_completed=min(rows, default=0) if len(rows) == spec.world_size else 0,
            # an agent that is gone leaves raw files, which its keeper brings
            finalised=len(rows) == spec.world_size and all(report.finalised for report in reports),
        )


def _command_of(spec: RunSpec) -> str:
    return json.dumps(spec.workload_options, sort_keys=True) if spec.runs_a_command else ""


_FACTS_OF_RANKS = (
    "parameters", "units", "tokens_per_example", "couples_examples", "same_batch", "dataset_size",
    "memory_before_bytes", "examples_per_step", "work_of_ranks", "metric", "profile_problem", "ranks_ended",
)  # fmt: skip
"""Fields of an outcome that only a rank can know."""


def _merged_facts(reports: list[Report]) -> dict[str, Any]:
    """The report of the first agent's ranks, with the devices and the slowest rank of all agents."""
    known = [report.rank_facts for report in reports if report.rank_facts]
    rank_facts: dict[str, Any] = next(iter(known), {})
    names = {name for report in reports for name in report.rank_facts.get("device_names", [])}
    slowest = {key: largest(report.rank_facts.get(key) for report in reports) for key in OF_THE_SLOWEST}
    commands = {
        rank: facts for report in reports for rank, facts in report.rank_facts.get("commands", {}).items()
    }
    joined = {
        "device_names": sorted(names),
        "commands": commands,
        "profile_problem": first_problem(known),
        "ranks_ended": sum(facts["ranks_ended"] for facts in known) if known else None,
    }
    return rank_facts | joined | slowest


@contextmanager
def _naming_the_remedy(session: SessionFolder) -> Iterator[None]:
    """If results can no longer be written the session ends, with the command that continues it."""
    resume = f"`{BENCH} {session.measured_by} --resume {session.session_id}` here"
    try:
        yield
    except UnstoredError as error:
        raise InputError(f"{error}; once that is fixed, {resume} stores them and continues") from error
    except OSError as error:
        if error.errno not in OF_THE_MACHINE:
            raise
        raise InputError(
            f"the session cannot be written: {error}; completed runs are kept; once that is fixed, {resume} continues"
        ) from error


@contextmanager
def _stop_if_image_lost(session: SessionFolder, stop: StopRequest) -> Iterator[None]:
    """If the image is gone, a failed import or read is the beginning of a stop: its signal is on its way."""
    try:
        with unreadable_image.awaiting_its_signal():
            yield
    except (ImportError, OSError) as error:
        if not unreadable_image.is_gone():
            raise
        for begun in session.path.glob(f"*/{BEGUN}"):
            salvage(begun.parent)
        if not stop.requested:
            raise InputError(
                f"the container's image can no longer be read: {error}; completed runs are kept; continue with "
                f"`{read_result(session, session.plan()).resume_command}`"
            ) from error
