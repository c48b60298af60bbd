"""One agent's part of one run, from its ranks' fork to its files: the same for the leader and a follower."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench import lost_image
from bench.errors import InputError
from bench.files import attempt_folder, copy_whole, raw_files
from bench.launch.agent import Agent, AgentOutcome, HostJob
from bench.launch.keeper import Keeper
from bench.launch.orders import Orders
from bench.measure import evals, finalise, recorder
from bench.measure.recorder import LastStep, StepRows
from bench.measure.sensors import Sensors
from bench.records.messages import Report
from bench.records.run_spec import RunSpec

OF_THE_SLOWEST = ("compile_s", "measured_recompiles")
"""Of what ranks say of themselves, that of which the run's is the largest: the others wait for it."""


class UnstoredError(InputError):
    """A run is over and its rows cannot be written into its folder; the message says where they are kept."""


class Host:
    """Hosts runs, one at a time, with this agent's scratch, sensors and keeper."""

    def __init__(self, agent: Agent, scratch: Path, task: int) -> None:
        self._task = task
        self.scratch = scratch
        """Of the agent; each run gets a folder in it."""
        self._agent = agent
        self._sensors = Sensors.start(scratch / "samples.raw")
        self._keeper = Keeper.start(scratch)
        self._pids: dict[int, list[int]] = {}
        self._begun: tuple[Path, Path, int] | None = None
        """Scratch, folder and attempt of the run at hand."""
        lost_image.read_pages()

    def watch(self, task: int, pids: list[int]) -> None:
        """The agent `task` of this node hosts these ranks: their resident memory is summed with the others'."""
        self._pids[task] = pids
        if task == self._task and self._begun is not None:
            self._keeper.begin(*self._begun, pids)
        self._sensors.watch([pid for pids in self._pids.values() for pid in pids])

    def host(self, job: HostJob, orders: Orders, folder: Path, show: Callable[[LastStep], None]) -> Report:
        """Run this agent's ranks; afterwards their rows lie in `folder`."""
        scratch = self.run_scratch(job.run)
        scratch.mkdir()
        self._begun = (scratch, folder, job.run.attempt)
        self._keeper.begin(*self._begun)
        began_ns = time.perf_counter_ns()
        outcome = self._agent.host(job, orders, scratch, folder, show)
        folder = attempt_folder(folder, job.run.attempt)
        try:
            report = self._store(job, outcome, scratch, folder, (began_ns, time.perf_counter_ns()))
        except OSError as error:
            raise UnstoredError(
                f"the rows of {job.run.run_id} cannot be stored: {error.strerror}: {error.filename}; they are kept in "
                f"{scratch} on {platform.node()}"
            ) from error
        shutil.rmtree(scratch)
        self._begun = None
        self._keeper.end()
        self._pids.clear()
        self._sensors.watch([])
        return report

    def run_scratch(self, run: RunSpec) -> Path:
        return self.scratch / f"{run.run_id}.{run.attempt}"

    def stop(self) -> None:
        self._sensors.stop()
        self._keeper.stop()

    def _store(
        self, job: HostJob, outcome: AgentOutcome, scratch: Path, folder: Path, span: tuple[int, int]
    ) -> Report:
        rows = _read_rows(scratch)
        barriers = [rank.barrier_ns for rank in rows if rank.barrier_ns]
        if outcome.fault is not None and outcome.fault.status == "interrupted":
            finalised = _keep_raw(scratch, folder)
        else:
            finalised = True
            self._finalise(job, scratch, folder, rows, span)
        return Report(
            fault=outcome.fault,
            said=_said(outcome),
            rows=dict.fromkeys(outcome.outcomes, 0)
            | {rank.identity["rank"]: rank.trained for rank in rows if rank.identity},
            setup_s=(min(barriers) - span[0]) / 1e9 if barriers else None,
            finalised=finalised,
        )

    def _finalise(
        self, job: HostJob, scratch: Path, folder: Path, rows: list[StepRows], span: tuple[int, int]
    ) -> None:
        run = job.run
        identity = finalise.identity_of(run.session_id, run.run_id, run.attempt, job.node)
        finalise.write_steps(folder, job.node, rows, job.local_task)
        barrier = min((rank.barrier_ns for rank in rows if rank.barrier_ns), default=span[0])
        if job.local_task == 0:
            finalise.write_samples(folder, identity, self._sensors.rows_between(*span), barrier)
        finalise.write_evals(folder, identity, evals.read(scratch))
        for trace in scratch.glob("trace.rank*.json.gz"):  # whole: it has its name
            copy_whole(trace, folder / trace.name)
        finalise.write_rank_tables(scratch, folder, (run.session_id, run.run_id, run.attempt))


def _said(outcome: AgentOutcome) -> dict[str, Any]:
    ranks = [said for said in outcome.outcomes.values() if "parameters" in said]
    names = {said["device_name"] for said in ranks if said.get("device_name")}
    slowest = {key: largest(said.get(key) for said in ranks) for key in OF_THE_SLOWEST}
    return ranks[0] | {"device_names": sorted(names)} | slowest if ranks else {}


def largest(values: Iterable[float | None]) -> float | None:
    """Of those that are known."""
    return max((value for value in values if value is not None), default=None)


def _read_rows(scratch: Path) -> list[StepRows]:
    files = sorted(scratch.glob("steps.rank*.raw"), key=lambda path: int(path.name.split(".")[1][4:]))
    return [recorder.read(path) for path in files if path.stat().st_size]


def _keep_raw(scratch: Path, folder: Path) -> bool:
    """Copy raw files as they are: when told to stop, the image that holds pyarrow may be going away.

    Returns whether nothing is left to be made into Parquet.
    """
    raws = raw_files(scratch)
    for path in raws:
        copy_whole(path, folder / path.name)
    return not raws
