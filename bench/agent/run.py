"""One agent's part of a run, from forking its ranks to storing their rows. Leader and followers do the same."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bench.agent.fork_server import WarmServer
from bench.agent.ranks import RankGroup, RanksOutcome, RunControl, RunPart
from bench.agent.scratch_keeper import Keeper
from bench.command import rows as command_rows
from bench.common import unreadable_image
from bench.common.errors import InputError
from bench.common.files import attempt_folder, copy_whole, raw_files
from bench.machine.cpus import as_text
from bench.measure import evals, rank_tables, recorder, write_parquet
from bench.measure.profile.profiled_step import first_problem
from bench.measure.rank_tables import Writer
from bench.measure.recorder import LastStep
from bench.measure.sensors.process import Sensors
from bench.records.messages import Report
from bench.records.run_spec import RunSpec
from bench.session.stop import StopRequest

OF_THE_SLOWEST = ("compile_s", "measured_recompiles")
"""Facts of ranks that a run takes from the slowest rank, the largest value: the others wait for it."""


class UnstoredError(InputError):
    """A run has ended and its rows cannot be written to its folder; the message says where they are kept."""


class Agent:
    """Runs one agent's part of each run, one run at a time, with the agent's scratch folder, sensors and keeper."""

    def __init__(self, server: WarmServer, stop: StopRequest, scratch: Path, task: int) -> None:
        self._server = server
        self._stop = stop
        self._task = task
        self.scratch = scratch
        """The agent's scratch folder; each run gets a folder in it."""
        self._sensors = Sensors.start(scratch / "samples.raw")
        self._keeper = Keeper.start(scratch)
        self._pids: dict[int, list[int]] = {}
        """Process ids of the ranks on this node, by task."""
        self._current: tuple[Path, Path, int] | None = None
        """Scratch folder, results folder and attempt of the current run."""
        unreadable_image.read_pages()

    def watch_memory(self, task: int, pids: list[int]) -> None:
        """Add the ranks of the agent `task`, which is on this node, to those whose resident memory is summed."""
        self._pids[task] = pids
        if task == self._task and self._current is not None:
            self._keeper.begin(*self._current, pids)
        self._sensors.watch([pid for pids in self._pids.values() for pid in pids])

    def run_part(
        self, part: RunPart, control: RunControl, folder: Path, show: Callable[[LastStep], None]
    ) -> Report:
        """Run this agent's ranks and store their rows in `folder`. Raises UnstoredError if they cannot be stored."""
        scratch = self.run_scratch(part.run)
        scratch.mkdir()
        self._current = (scratch, folder, part.run.attempt)
        self._keeper.begin(*self._current)
        _note_places(scratch, part)
        began_ns = time.perf_counter_ns()
        outcome = RankGroup(part, self._server, self._stop, scratch, folder).run(control, show)
        folder = attempt_folder(folder, part.run.attempt)
        try:
            report = self._store(part, outcome, scratch, folder, (began_ns, time.perf_counter_ns()))
        except OSError as error:
            raise UnstoredError(
                f"the rows of {part.run.run_id} cannot be stored: {error.strerror}: {error.filename}; they are kept in "
                f"{scratch} on {platform.node()}"
            ) from error
        shutil.rmtree(scratch)
        self._current = None
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
        self, part: RunPart, outcome: RanksOutcome, scratch: Path, folder: Path, span_ns: tuple[int, int]
    ) -> Report:
        files = sorted(scratch.glob("steps.rank*.raw"), key=lambda path: int(path.name.split(".")[1][4:]))
        ranks = [recorder.read(path) for path in files if path.stat().st_size]
        if part.run.runs_a_command:
            ranks = command_rows.with_a_common_zero(ranks)
        barriers_ns = [rank.barrier_ns for rank in ranks if rank.barrier_ns]
        if outcome.fault is not None and outcome.fault.status == "interrupted":
            # stopped: the image that holds pyarrow may be going away, so raw files are copied as they are
            raws = raw_files(scratch)
            for path in raws:
                copy_whole(path, folder / path.name)
            finalised = not raws
        else:
            run = part.run
            identity = write_parquet.identity_of(run.session_id, run.run_id, run.attempt, part.node)
            write_parquet.write_steps(folder, part.node, ranks, part.local_task)
            if part.local_task == 0:
                samples = self._sensors.rows_between(*span_ns)
                write_parquet.write_samples(folder, identity, samples, min(barriers_ns, default=span_ns[0]))
            if run.runs_a_command:
                command_rows.store(scratch, part, outcome.outcomes)
            write_parquet.write_evals(folder, identity, evals.read(scratch))
            for trace in scratch.glob("trace.rank*.json.gz"):  # a trace gets this name once it is complete
                copy_whole(trace, folder / trace.name)
            write_parquet.write_rank_tables(scratch, folder, (run.session_id, run.run_id, run.attempt))
            finalised = True
        return Report(
            fault=outcome.fault,
            rank_facts=_facts_of_ranks(outcome),
            # 0 for a rank that did not start: none of its rows are missing
            rows=dict.fromkeys((place.rank for place in part.places), 0)
            | {rank.identity["rank"]: rank.trained for rank in ranks if rank.identity},
            setup_s=(min(barriers_ns) - span_ns[0]) / 1e9 if barriers_ns else None,
            finalised=finalised,
        )


def _note_places(scratch: Path, part: RunPart) -> None:
    """The rows of `rank_places` of this agent's ranks."""
    for place in part.places:
        uuid = place.gpu.uuid if place.gpu is not None else None
        device = rank_tables.UNKNOWN if place.sampled_as is None else place.sampled_as
        row = np.array([(device, uuid or "", as_text(place.cpus))], dtype=rank_tables.TABLES["rank_places"])
        writer = Writer(node=part.node, local_task=part.local_task, rank=place.rank)
        rank_tables.append(scratch, "rank_places", writer, row)


def _facts_of_ranks(outcome: RanksOutcome) -> dict[str, Any]:
    """Facts of the first rank that trained, with the device names, the slowest values and the problems of all ranks."""
    ranks = [facts for facts in outcome.outcomes.values() if "parameters" in facts]
    if not ranks:
        return {}
    names = {facts["device_name"] for facts in ranks if facts.get("device_name")}
    slowest = {key: largest(facts.get(key) for facts in ranks) for key in OF_THE_SLOWEST}
    commands = {str(rank): facts["command"] for rank, facts in outcome.outcomes.items() if "command" in facts}
    joined = {
        "device_names": sorted(names),
        "commands": commands,
        "profile_problem": first_problem(ranks),
        "ranks_ended": outcome.late,
    }
    return ranks[0] | joined | slowest


def largest(values: Iterable[float | None]) -> float | None:
    """The largest known value; null if none is known."""
    return max((value for value in values if value is not None), default=None)
