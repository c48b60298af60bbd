"""A session from its first run to its last: for each run go or skip, host it, store it, say how it went."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from bench.files import raw_files
from bench.launch import environment
from bench.launch.agent import Agent, NodeOutcome, Place
from bench.launch.coordinate import Alone, Coordinator
from bench.launch.salvage import SCRATCH_PREFIX, mark
from bench.launch.session import SessionFolder, utc_now
from bench.launch.stop import StopRequest
from bench.launch.warm import WarmServer
from bench.measure import evals, finalise, recorder
from bench.measure.recorder import LastStep, StepRows
from bench.measure.sensors import Sensors
from bench.slots import cores_for
from bench.spec import PlannedRun, RunSpec, Slots


class Display(Protocol):
    """Who is told how the session goes; bench/launch/progress.py has the two that ship."""

    def session_begins(self, session_id: str, runs: int) -> None: ...
    def run_begins(self, spec: RunSpec, number: int) -> None: ...
    def step(self, last: LastStep) -> None: ...
    def run_ends(self, spec: RunSpec, outcome: dict[str, Any]) -> None: ...
    def session_ends(self) -> None: ...


class Execution:
    """Carries out a plan on this node."""

    def __init__(
        self, session: SessionFolder, slots: Slots, server: WarmServer, display: Display, stop: StopRequest
    ) -> None:
        self._session = session
        self._slots = slots
        self._server = server
        self._display = display
        self._stop = stop
        self._suite: dict[str, Any] = session.head()["resolved"]
        self._facts = environment.gather()

    def run(self, plan: tuple[PlannedRun, ...]) -> None:
        """Every run that is not done yet, until the last or until told to stop."""
        self._display.session_begins(self._session.session_id, len(plan))
        with tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX) as scratch:
            self._scratch = Path(scratch)
            mark(self._scratch, self._session.path)
            self._coordinator: Coordinator = Alone(scratch)
            self._sensors = Sensors.start(self._scratch / "samples.raw")
            self._agent = Agent(self._server, self._coordinator, self._stop, self._sensors.watch)
            try:
                for number, planned in enumerate(plan, start=1):
                    if self._stop.requested:
                        break
                    self._one(planned, number)
            finally:
                self._sensors.stop()
                if not self._stop.terminal_gone:
                    self._display.session_ends()

    def _one(self, planned: PlannedRun, number: int) -> None:
        begun = self._session.begin(planned.spec)
        if begun is None:
            return
        folder, attempt = begun
        spec = dataclasses.replace(planned.spec, attempt=attempt)
        self._display.run_begins(spec, number)
        if self._coordinator.agree("skip" if planned.skip_reason else "go") == "skip":
            outcome = {
                "status": "skipped",
                "error": planned.skip_reason,
                "started_at": utc_now(),
                "elapsed_s": 0.0,
            }
        else:
            outcome = self._host(spec, folder)
        self._session.write_run(
            spec,
            outcome,
            environment.fingerprint(self._facts, self._suite, spec.device_type)
            | environment.own_file(spec.workload),
        )
        if not self._stop.terminal_gone:
            self._display.run_ends(spec, outcome)

    def _host(self, spec: RunSpec, folder: Path) -> dict[str, Any]:
        scratch = self._scratch / f"{spec.run_id}.{spec.attempt}"
        scratch.mkdir()
        self._session.note_begun(spec, scratch)
        started_at, began_ns = utc_now(), time.perf_counter_ns()
        node = self._agent.host(spec, self._places(spec), scratch, folder, self._display.step)
        if node.fault is not None and not self._stop.requested:
            self._server.start()  # what ended the run may have ended the server too; alive, it answers at once
        ended_ns = time.perf_counter_ns()
        rows = _read_rows(scratch)
        outcome = self._outcome(spec, node, rows)
        outcome |= {"started_at": started_at, "elapsed_s": (ended_ns - began_ns) / 1e9}
        barriers = [rank.barrier_ns for rank in rows if rank.barrier_ns]
        outcome["setup_s"] = (min(barriers) - began_ns) / 1e9 if barriers else None
        if outcome["status"] == "interrupted":
            outcome["finalised"] = _keep_raw(scratch, folder)
        else:
            self._store(spec, folder, scratch, rows, (began_ns, ended_ns))
        shutil.rmtree(scratch)
        return outcome

    def _places(self, spec: RunSpec) -> list[Place]:
        first = self._coordinator.index * spec.ranks_per_node
        return [
            Place(
                rank=first + local,
                local_rank=local,
                cores=cores_for(local, spec, self._slots),
                device_index=local % self._slots.cuda_devices_per_node
                if spec.device_type == "cuda"
                else None,
            )
            for local in range(spec.ranks_per_node)
        ]

    def _outcome(self, spec: RunSpec, node: NodeOutcome, rows: list[StepRows]) -> dict[str, Any]:
        fault = node.fault
        said: dict[str, Any] = next((o for o in node.outcomes.values() if "parameters" in o), {})
        device_name = self._facts.get("cpu_model") if spec.device_type == "cpu" else said.get("device_name")
        return {
            "status": "ok" if fault is None else fault.status,
            "error": None if fault is None else fault.error,
            "failed_rank": None if fault is None else fault.rank,
            "failed_node": None if fault is None else fault.node,
            "slurm_job_id": self._facts.get("SLURM_JOB_ID"),
            "device_name": device_name,
            "parameters": said.get("parameters"),
            "tokens_per_example": said.get("tokens_per_example"),
            "flops_per_step": None,
            "dataset_size": said.get("dataset_size"),
            "data_source": spec.data.source,
            "steps_completed": min((len(rank.words) for rank in rows), default=0),
            "finalised": True,
        }

    def _store(
        self, spec: RunSpec, folder: Path, scratch: Path, rows: list[StepRows], span: tuple[int, int]
    ) -> None:
        index = self._coordinator.index
        identity = finalise.identity_of(spec.session_id, spec.run_id, spec.attempt, index)
        finalise.write_steps(folder, index, rows)
        barrier = min((rank.barrier_ns for rank in rows if rank.barrier_ns), default=span[0])
        finalise.write_samples(folder, identity, self._sensors.rows_between(*span), barrier)
        finalise.write_evals(folder, identity, evals.read(scratch))


def _read_rows(scratch: Path) -> list[StepRows]:
    files = sorted(scratch.glob("steps.rank*.raw"), key=lambda path: int(path.name.split(".")[1][4:]))
    return [recorder.read(path) for path in files if path.stat().st_size]


def _keep_raw(scratch: Path, folder: Path) -> bool:
    """Copy raw files as they are: when told to stop, the image that holds pyarrow may be going away.

    Returns whether nothing is left to be made into Parquet.
    """
    raws = raw_files(scratch)
    for path in raws:
        shutil.copyfile(path, folder / path.name)
    return not raws
