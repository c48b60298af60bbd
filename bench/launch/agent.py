"""The agent: one process per node. Starts, watches and ends the ranks of its node; never touches the device."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from bench.launch import postmortem
from bench.launch.coordinate import Coordinator, Fault
from bench.launch.stop import StopRequest
from bench.launch.warm import WarmServer
from bench.measure import recorder
from bench.measure.recorder import LastStep
from bench.process import is_stopped, kill_group
from bench.spec import RunSpec
from bench.train.rank import RankJob, outcome_file, step_file

_TICK_S = 0.1
"""How often a running run is looked at for progress, time and faults announced elsewhere; deaths wake at once."""
_STACKS_S = 0.5
"""Time for ranks to write their stacks before they are ended."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one rank of a run runs."""

    rank: int
    local_rank: int
    cores: list[int]
    device_index: int | None


@dataclass(kw_only=True)
class NodeOutcome:
    """How a run went on one node."""

    fault: Fault | None
    outcomes: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By rank, what each rank said itself."""


class Agent:
    """Hosts the ranks of one node, one run at a time."""

    def __init__(
        self,
        server: WarmServer,
        coordinator: Coordinator,
        stop: StopRequest,
        watch_pids: Callable[[list[int]], None],
    ) -> None:
        self._server = server
        self._coordinator = coordinator
        self._stop = stop
        self._watch_pids = watch_pids

    def host(
        self, run: RunSpec, places: list[Place], scratch: Path, logs: Path, show: Callable[[LastStep], None]
    ) -> NodeOutcome:
        """Run this node's ranks to their end, good or bad; afterwards no process of them is left."""
        kernel_kills = postmortem.kernel_oom_kills()
        ranks: dict[int, ForkServerProcess] = {}
        try:
            self._fork(ranks, run, places, scratch, logs)
            self._watch_pids([process.pid for process in ranks.values() if process.pid])
            fault = self._watch(run, ranks, scratch, show, kernel_kills)
        except (EOFError, ConnectionError) as error:
            text = f"the process that ranks are forked from is gone ({type(error).__name__})"
            fault = Fault(status="failed", error=text, rank=None, node=self._coordinator.index)
        finally:
            _end(ranks)
            self._watch_pids([])
        return NodeOutcome(fault=fault, outcomes={rank: _outcome(scratch, rank) for rank in ranks})

    def _fork(
        self,
        ranks: dict[int, ForkServerProcess],
        run: RunSpec,
        places: list[Place],
        scratch: Path,
        logs: Path,
    ) -> None:
        rendezvous = self._coordinator.rendezvous(f"{run.run_id}.{run.attempt}")
        for place in places:
            job = RankJob(
                spec=run.to_json(),
                rank=place.rank,
                local_rank=place.local_rank,
                node=self._coordinator.index,
                cores=place.cores,
                device_index=place.device_index,
                rendezvous=rendezvous,
                interface="lo" if run.nodes == 1 else None,
                scratch=str(scratch),
                log=str(logs / f"rank{place.rank}.log"),
                server_pid=self._server.pid,
            )
            ranks[place.rank] = self._server.fork(json.dumps(job.__dict__))

    def _watch(
        self,
        run: RunSpec,
        ranks: dict[int, ForkServerProcess],
        scratch: Path,
        show: Callable[[LastStep], None],
        kernel_kills: int | None,
    ) -> Fault | None:
        deadline = time.monotonic() + run.measure.timeout_s
        living = dict(ranks)
        watched = step_file(scratch, min(ranks))
        while living:
            waiting = [process.sentinel for process in living.values()]
            connection.wait([*waiting, self._stop.fd], timeout=_TICK_S)
            dead = {
                rank: process.exitcode for rank, process in living.items() if process.exitcode is not None
            }
            fault = self._fault(dead, len(living), scratch, kernel_kills)
            if fault is None and time.monotonic() > deadline:
                fault = self._timed_out(run, living, scratch)
            if fault is not None:
                self._coordinator.announce(fault)
                return fault
            for rank in dead:
                del living[rank]
            last = recorder.peek(watched)
            if last is not None:
                show(last)
        return None

    def _fault(
        self, dead: dict[int, int], living: int, scratch: Path, kernel_kills: int | None
    ) -> Fault | None:
        failed = {
            rank: postmortem.Death(exit_code=code, outcome=_outcome(scratch, rank))
            for rank, code in dead.items()
            if code != 0 or "parameters" not in _outcome(scratch, rank)
        }
        if self._stop.requested and (failed or len(dead) < living):
            return Fault(status="interrupted", error=self._stop.reason, rank=None, node=None)
        if failed:
            return postmortem.first_to_die(failed, self._coordinator.index, kernel_kills)
        return self._coordinator.announced()

    def _timed_out(self, run: RunSpec, living: dict[int, ForkServerProcess], scratch: Path) -> Fault:
        for process in living.values():
            if process.pid:
                os.kill(
                    process.pid, signal.SIGUSR1
                )  # faulthandler writes every thread's stack to the rank's log
        time.sleep(_STACKS_S)
        rows = {
            rank: last.rows if (last := recorder.peek(step_file(scratch, rank))) else 0 for rank in living
        }
        stopped = [rank for rank, process in living.items() if process.pid and is_stopped(process.pid)]
        steps = ", ".join(f"rank {rank}: {count}" for rank, count in sorted(rows.items()))
        return Fault(
            status="timeout",
            error=f"not done after {run.measure.timeout_s:g} s (measure.timeout_s); steps completed: {steps}; "
            + "".join(f"rank {rank} is stopped; " for rank in stopped)
            + "stacks are in the ranks' logs",
            rank=_behind(rows, stopped),
            node=self._coordinator.index,
        )


def _behind(rows: dict[int, int], stopped: list[int]) -> int | None:
    """The rank that the others wait for: a stopped one, else the one with fewest steps; null where none stands out."""
    if stopped:
        return min(stopped)
    fewest = [rank for rank, count in rows.items() if count == min(rows.values())]
    return fewest[0] if len(fewest) == 1 else None


def _end(ranks: dict[int, ForkServerProcess]) -> None:
    """Kill what is left of every rank's process group, stopped or not, loader workers included."""
    for process in ranks.values():
        if process.pid:
            kill_group(process.pid)
            process.kill()  # a rank that had not come to lead its group yet
    for process in ranks.values():
        process.join()


def _outcome(scratch: Path, rank: int) -> dict[str, Any]:
    try:
        outcome: dict[str, Any] = json.loads(outcome_file(scratch, rank).read_text())
    except FileNotFoundError:
        return {}
    return outcome
