"""A session from its first run to its last: for each run go or skip, host it, store it, say how it went."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

from bench import strategies
from bench.launch.agent import Agent
from bench.launch.crew import Crew
from bench.launch.fingerprint import fingerprint
from bench.launch.flops import Flops, FlopsCounter
from bench.launch.gathering import Gathered
from bench.launch.host import OF_THE_SLOWEST, Host, largest
from bench.launch.rounds import Rounds
from bench.launch.salvage import agent_scratch, mark
from bench.launch.searching import Search
from bench.launch.session import SessionFolder, utc_now
from bench.launch.share import share_bytes
from bench.launch.stop import StopRequest
from bench.launch.time_left import TimeLeft
from bench.launch.warm import WarmServer
from bench.measure.recorder import LastStep
from bench.plan import most_runs
from bench.plan_batch import measured, pending_sizes
from bench.records.messages import Report
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import PlannedRun, RunSpec


class Display(Protocol):
    """Who is told how the session goes; bench/launch/progress.py has the two that ship."""

    def session_begins(self, session_id: str, runs: int, at_most: int) -> None: ...
    def search_begins(self, sizes: int) -> None: ...
    def search_ends(self, sentences: list[str]) -> None: ...
    def round_begins(self, runs: tuple[PlannedRun, ...]) -> None: ...
    def note(self, text: str) -> None: ...
    def run_begins(self, spec: RunSpec, number: int) -> None: ...
    def step(self, last: LastStep) -> None: ...
    def run_ends(self, spec: RunSpec, outcome: RunOutcome) -> None: ...
    def session_ends(self) -> None: ...


class Execution:
    """Carries out a plan on everyone who has gathered."""

    def __init__(
        self,
        session: SessionFolder,
        gathered: Gathered,
        server: WarmServer,
        display: Display,
        stop: StopRequest,
        time_left: TimeLeft,
    ) -> None:
        self._session = session
        self._gathered = gathered
        self._server = server
        self._display = display
        self._stop = stop
        self._facts = gathered.facts[gathered.own.node]
        self._time = time_left
        self._search = Search(session.path, share_bytes)
        self._flops = FlopsCounter(server, stop)
        self.learnt: dict[str, str] = {}
        """Facts that only ranks know: what they talked over, by placement, and NCCL's version."""
        self.lost: tuple[str, ...] = ()
        """Which agents were lost, and why."""
        self._trains_a_model: dict[str, bool] = {}
        """By strategy of the plan: whether it trains a model. Looked up before the first run, because a session that is
        told to stop may not be able to import a strategy any more."""

    def run(self, plan: tuple[PlannedRun, ...]) -> None:
        """Every run that is not done yet, and those that measure.until adds, until the last or until told to stop."""
        runs = measured(plan)
        self._trains_a_model = {
            name: strategies.lays_models(name) for name in {run.spec.strategy for run in plan}
        }
        self._display.session_begins(self._session.session_id, len(runs), most_runs(runs))
        with agent_scratch() as scratch:
            mark(scratch, self._session.path)
            host = Host(Agent(self._server, self._stop), scratch, self._gathered.own.task)
            self._crew = Crew(self._gathered, host, self._stop, self._session.stop_file)
            try:
                self._crew.await_ready()
                self._all(plan)
            finally:
                host.stop()
                if not self._stop.terminal_gone:
                    self._display.session_ends()
                self.lost = tuple(self._crew.lost.values())

    def _all(self, plan: tuple[PlannedRun, ...]) -> None:
        """What find_batch has to know, the plan, then round by round one further repeat of what is not sure enough."""
        plan = self._searched(plan)
        probes = tuple(run for run in plan if run.spec.probe)
        runs, rounds, number = measured(plan), Rounds(self._session.path), 0
        while number < len(runs):
            for planned in runs[number:]:
                number += 1
                if self._told_to_stop():
                    return
                self._one(planned, number)
            if not self._stop.requested and (more := rounds.further(runs)):
                runs = (*runs, *more)
                self._session.replan((*probes, *runs))
                self._display.round_begins(more)

    def _searched(self, plan: tuple[PlannedRun, ...]) -> tuple[PlannedRun, ...]:
        """The plan with the batches of every size of which the largest micro-batch is known now. Probing runs are
        written down, before the plan's other runs, before they begin: a resume goes on with them."""
        if sizes := pending_sizes(plan):
            self._display.search_begins(len(sizes))
        while probes := self._search.next(plan):
            known = {run.spec.run_id for run in plan}
            new = [probe for probe in probes if probe.spec.run_id not in known]
            plan = (*(run for run in plan if run.spec.probe), *new, *measured(plan))
            self._session.replan(plan)
            for probe in probes:
                if self._told_to_stop():
                    return plan
                self._one(probe, 0)
        if sizes:
            self._display.search_ends(self._search.sentences(plan))
            plan = self._search.settle(plan)
            self._session.replan(plan)
        return plan

    def _told_to_stop(self) -> bool:
        self._stop.look_for(self._session.stop_file)
        return self._stop.requested

    def _one(self, planned: PlannedRun, number: int) -> None:
        begun = self._session.begin(planned.spec)
        if begun is None:
            return
        folder, attempt = begun
        spec = replace(planned.spec, attempt=attempt)
        self._display.run_begins(spec, number)
        outcome = self._without_batch(planned) or self._skip(planned)
        nodes, said = [self._gathered.own.node], dict[str, Any]()
        if outcome is None:
            nodes = self._crew.nodes(spec)  # now: a node that is lost hosts it all the same
            outcome, said = self._host(spec, folder)
        facts = [self._gathered.facts[node] for node in nodes]
        self._session.write_run(spec, outcome, fingerprint(spec, facts, said))
        if not self._stop.terminal_gone:
            self._display.run_ends(spec, outcome)

    def _without_batch(self, planned: PlannedRun) -> RunOutcome | None:
        """The outcome of a run for which find_batch found nothing; null where the plan says what to run."""
        if not planned.pending or planned.skip_reason is not None:
            return None
        return replace(self._search.why_not(planned), started_at=utc_now(), elapsed_s=0.0)

    def _skip(self, planned: PlannedRun) -> RunOutcome | None:
        """The outcome of a run that is not begun; null where it can be."""
        skipped_for: Literal["time", "agents"] | None = None
        reason = planned.skip_reason
        if reason is None and (reason := self._time.too_short_for(planned.spec)):
            skipped_for = "time"
        if reason is None and (reason := self._crew.why_not(planned.spec)):
            skipped_for = "agents"
        if reason is None:
            return None
        return RunOutcome(
            status="skipped", error=reason, skipped_for=skipped_for, started_at=utc_now(), elapsed_s=0.0
        )

    def _host(self, spec: RunSpec, folder: Path) -> tuple[RunOutcome, dict[str, Any]]:
        """The outcome, and what the ranks said of themselves."""
        flops = self._count_flops(spec)
        self._session.note_begun(spec, self._crew.run_scratch(spec))
        started_at, began_ns = utc_now(), time.perf_counter_ns()
        reports = self._crew.host(spec, folder, self._display.step)
        if reports[0].fault is not None and not self._stop.requested:
            self._server.start()  # what ended the run may have ended the server too; alive, it answers at once
        elapsed_s = (time.perf_counter_ns() - began_ns) / 1e9
        self._time.took(spec, elapsed_s)
        said = _said(reports)
        self._learn(spec, said)
        outcome = replace(
            self._outcome(spec, reports, said),
            flops_per_step=flops.per_step,
            flops_note=flops.note,
            started_at=started_at,
            elapsed_s=elapsed_s,
        )
        return outcome, said

    def _count_flops(self, spec: RunSpec) -> Flops:
        new = not self._flops.is_known(spec)
        flops = self._flops.of(spec)
        if new and flops.note and not self._stop.requested:
            self._display.note(f"case {spec.case_name}: FLOPs were not counted: {flops.note}")
        return flops

    def _learn(self, spec: RunSpec, said: dict[str, Any]) -> None:
        if said.get("transport"):
            self.learnt[f"transport_{spec.nodes}x{spec.ranks_per_node}"] = said["transport"]
        if said.get("nccl"):
            self.learnt["nccl"] = said["nccl"]

    def _outcome(self, spec: RunSpec, reports: list[Report], said: dict[str, Any]) -> RunOutcome:
        fault = reports[0].fault
        device_name = self._facts.get("cpu_model") if spec.device_type == "cpu" else said.get("device_name")
        rows = [count for report in reports for count in report.rows.values()]
        return RunOutcome(
            status="ok" if fault is None else fault.status,
            error=None if fault is None else fault.error,
            failed_rank=None if fault is None else fault.rank,
            failed_node=None if fault is None else fault.node,
            slurm_job_id=self._facts.get("SLURM_JOB_ID"),
            device_name=device_name,
            data_source=spec.data.source if self._trains_a_model[spec.strategy] else None,
            setup_s=reports[0].setup_s,
            **{name: said.get(name) for name in (*_SAID_BY_RANKS, *OF_THE_SLOWEST)},
            steps_completed=min(rows, default=0) if len(rows) == spec.world_size else 0,
            # an agent that is gone leaves raw files, which its keeper brings
            finalised=len(rows) == spec.world_size and all(report.finalised for report in reports),
        )


_SAID_BY_RANKS = (
    "parameters", "units", "tokens_per_example", "couples_examples", "dataset_size", "memory_before_bytes",
)  # fmt: skip
"""Of an outcome, what only a rank can know."""


def _said(reports: list[Report]) -> dict[str, Any]:
    """What the first agent's ranks said, with the devices of all agents."""
    said: dict[str, Any] = next((report.said for report in reports if report.said), {})
    names = {name for report in reports for name in report.said.get("device_names", [])}
    slowest = {key: largest(report.said.get(key) for report in reports) for key in OF_THE_SLOWEST}
    return said | {"device_names": sorted(names)} | slowest
