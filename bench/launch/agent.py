"""The agent: one process per task. Starts, watches and ends its ranks; never touches the device."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from bench import lost_image
from bench.launch import postmortem, stacks
from bench.launch.orders import Orders
from bench.launch.stop import StopRequest
from bench.launch.warm import ServerGoneError, WarmServer
from bench.measure import recorder
from bench.measure.recorder import LastStep
from bench.process import is_stopped, kill_group
from bench.records.messages import Fault, Place, Standing
from bench.records.run_spec import RunSpec
from bench.train.job import RankJob, outcome_file, step_file

_TICK_S = 0.1
"""How often a running run is looked at for progress, time and faults announced elsewhere; deaths wake at once."""
_STACKS_S = 0.5
"""Time for ranks to write their stacks before they are ended."""


@dataclass(kw_only=True)
class AgentOutcome:
    """How a run went on one agent."""

    fault: Fault | None
    outcomes: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By rank, what each rank said itself."""


@dataclass(frozen=True, kw_only=True)
class HostJob:
    """One agent's part of a run."""

    run: RunSpec
    node: int
    """Index of this agent's node in the session."""
    local_task: int
    """This agent's number among those of its node."""
    places: list[Place]
    rendezvous: str
    """What the ranks meet by: see bench/train/group.py."""
    interface: str | None
    """Network interface for gloo; null leaves the choice to it."""


class Agent:
    """Hosts the ranks of one agent, one run at a time."""

    def __init__(self, server: WarmServer, stop: StopRequest) -> None:
        self._server = server
        self._stop = stop

    def host(
        self, job: HostJob, orders: Orders, scratch: Path, logs: Path, show: Callable[[LastStep], None]
    ) -> AgentOutcome:
        """Run this agent's ranks to their end, good or bad; afterwards no process of them is left."""
        ranks: dict[int, ForkServerProcess] = {}
        hosted = _Hosted(
            ranks=ranks,
            node=job.node,
            logs=logs,
            kernel_kills=postmortem.kernel_oom_kills(),
            limited=job.run.measure.memory_limit_bytes is not None and job.run.device_type == "cpu",
        )
        try:
            self._fork(ranks, job, scratch, logs)
            orders.started([process.pid for process in ranks.values() if process.pid])
            fault = self._watch(hosted, orders, scratch, show)
        except ServerGoneError as error:
            fault = orders.report(Fault(status="failed", error=str(error), rank=None, node=job.node))
        finally:
            _end(ranks)
        return AgentOutcome(fault=fault, outcomes={rank: _outcome(scratch, rank) for rank in ranks})

    def _fork(self, ranks: dict[int, ForkServerProcess], job: HostJob, scratch: Path, logs: Path) -> None:
        spec = job.run.to_json()
        for place in job.places:
            rank_job = RankJob(
                spec=spec,
                rank=place.rank,
                local_rank=place.local_rank,
                node=job.node,
                local_task=job.local_task,
                cores=place.cores,
                device_index=place.device_index,
                rendezvous=job.rendezvous,
                interface=job.interface,
                scratch=str(scratch),
                log=str(_log(logs, place.rank)),
                server_pid=self._server.pid,
            )
            ranks[place.rank] = self._server.fork(json.dumps(rank_job.__dict__))

    def _watch(
        self, hosted: _Hosted, orders: Orders, scratch: Path, show: Callable[[LastStep], None]
    ) -> Fault | None:
        living = dict(hosted.ranks)
        watched = step_file(scratch, min(living))
        while living:
            waiting = [process.sentinel for process in living.values()]
            connection.wait([*waiting, self._stop.fd, *orders.waits()], timeout=_TICK_S)
            dead = {
                rank: process.exitcode for rank, process in living.items() if process.exitcode is not None
            }
            fault = self._fault(hosted, dead, len(living), scratch)
            if fault is not None:
                return orders.report(fault)
            for rank in dead:
                del living[rank]
            fault = orders.look(lambda: _standing(hosted, living, scratch)) if living else None
            if fault is not None:
                return fault
            last = recorder.peek(watched)
            if last is not None:
                show(last)
        return None

    def _fault(self, hosted: _Hosted, dead: dict[int, int], living: int, scratch: Path) -> Fault | None:
        failed = {
            rank: postmortem.Death(exit_code=code, outcome=_outcome(scratch, rank), limited=hosted.limited)
            for rank, code in dead.items()
            if code != 0 or "parameters" not in _outcome(scratch, rank)
        }
        if postmortem.lost_the_image(failed):
            self._stop.wait(lost_image.SIGNAL_S)  # what ended the image was meant for us, too
        if self._stop.requested and (failed or len(dead) < living):
            return Fault(status="interrupted", error=self._stop.reason, rank=None, node=None)
        return postmortem.first_to_die(failed, hosted.node, hosted.kernel_kills) if failed else None


@dataclass(frozen=True, kw_only=True)
class _Hosted:
    """The ranks of a run that are being watched."""

    ranks: dict[int, ForkServerProcess]
    node: int
    logs: Path
    """Folder of the ranks' logs."""
    kernel_kills: int | None
    """Processes that the kernel had ended for want of memory before."""
    limited: bool
    """Whether the kernel refuses them memory beyond measure.memory_limit_bytes."""


def _standing(hosted: _Hosted, living: dict[int, ForkServerProcess], scratch: Path) -> Standing:
    """How far the living ranks are; each writes its threads' stacks into its log."""
    for process in living.values():
        if process.pid:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGUSR1)  # faulthandler's
    time.sleep(_STACKS_S)
    return Standing(
        node=hosted.node,
        rows={rank: last.rows if (last := recorder.peek(step_file(scratch, rank))) else 0 for rank in living},
        stopped=[rank for rank, process in living.items() if process.pid and is_stopped(process.pid)],
        busy={rank: where for rank in living if (where := stacks.outside_torch(_log(hosted.logs, rank)))},
    )


def _log(logs: Path, rank: int) -> Path:
    return logs / f"rank{rank}.log"


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
