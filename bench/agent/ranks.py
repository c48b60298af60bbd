"""The rank processes of one run on one agent: fork them, watch them, end them.

The agent itself never touches the device.
"""

from __future__ import annotations

import json
import math
import multiprocessing.process
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Protocol

from bench.agent import cause_of_death, timeout
from bench.agent.fork_server import ServerGoneError, WarmServer
from bench.agent.leftovers import LIMIT_S, Leftovers
from bench.command import ending, launchers, working_copy
from bench.common import unreadable_image
from bench.common.errors import InputError
from bench.common.process import is_stopped, join_groups, kill_group
from bench.measure import recorder
from bench.measure.recorder import LastStep
from bench.records.messages import Fault, Gpu, Place, Progress
from bench.records.run_spec import RunSpec
from bench.session.stop import StopRequest
from bench.train import transport
from bench.train.rank_job import RankJob, outcome_file, step_file

_TICK_S = 0.1
"""Interval between checks for progress, time and faults of other agents. A rank's death wakes the agent at once."""
_LOCAL_CAUSE_S = 2.0
"""Time in which a lost peer's own death becomes known here; the leader then waits longer for other agents' news."""
_LEAVES_S = 15.0
"""Time for a rank that has stored its rows and its outcome to end. The probe takes 10 s to end a script."""
_STACKS_S = 0.5
"""Time for ranks to write their stacks before they are killed."""
_GONE_S = 30.0
"""Time for killed processes to give back their memory. One that a driver or a file system holds may never end."""


@dataclass(frozen=True, kw_only=True)
class RunPart:
    """One agent's part of a run."""

    run: RunSpec
    node: int
    """Index of this agent's node in the session."""
    local_task: int
    """Index of this agent among those of its node."""
    places: list[Place]
    rendezvous: str
    """URL at which the ranks meet: see bench/train/process_group.py."""
    interface: str | None
    """Network interface on which gloo and NCCL meet; null lets them choose."""
    shares_gpus: bool
    """Whether ranks of the run share a GPU, or are on slices of one."""


def _device(gpu: Gpu | None) -> dict[str, Any]:
    """The fields of RankJob for the rank's GPU."""
    if gpu is None:
        return {"device_index": None, "cuda_visible_devices": None}
    if gpu.needs_its_name:
        return {"device_index": 0, "cuda_visible_devices": gpu.uuid}
    return {"device_index": gpu.index, "cuda_visible_devices": None}


class RunControl(Protocol):
    """How an agent exchanges news about one run. The leader, a follower and a lone agent each use it alike."""

    def wait_objects(self) -> list[Any]:
        """Objects for multiprocessing.connection.wait that wake the agent, besides its ranks and its own signals."""

    def ranks_started(self, pids: list[int]) -> None:
        """The agent's ranks are running."""

    def check(self, progress: Callable[[], Progress]) -> Fault | None:
        """Why the ranks here must end now; null if they may go on. Waits only after a fault or timeout, for its cause
        or for the progress of other agents. Calling `progress` takes half a second."""

    def report(self, fault: Fault) -> Fault:
        """Tell the others that something failed here. Returns what failed first, as far as that is known."""


@dataclass(kw_only=True)
class RanksOutcome:
    """How a run ended on one agent."""

    fault: Fault | None
    outcomes: dict[int, dict[str, Any]]
    """By rank: the outcome that the rank wrote itself; empty if it wrote none."""
    late: int
    """Ranks that were killed because they did not end after their last row."""


class RankGroup:
    """The ranks of one run on this agent."""

    def __init__(
        self, part: RunPart, server: WarmServer, stop: StopRequest, scratch: Path, logs: Path
    ) -> None:
        self._part = part
        self._server = server
        self._stop = stop
        self._scratch = scratch
        self._logs = logs
        self._processes: dict[int, ForkServerProcess] = {}
        """By rank."""
        self._stored_s: dict[int, float] = {}
        """By rank: when the outcome was found that is written after all rows."""
        self._late: set[int] = set()
        """Ranks that were killed because they did not end after that."""
        self._leftovers: Leftovers | None = None
        """Processes that are started from the first rank on."""
        self._kernel_kills_before = cause_of_death.kernel_oom_kills()
        self._is_command = part.run.runs_a_command

    def run(self, control: RunControl, show: Callable[[LastStep], None]) -> RanksOutcome:
        """Run the ranks until all have ended, well or not. No process of their groups is left afterwards; if the run
        failed, nothing at all that they have started."""
        failed = True
        try:
            if self._is_command and self._part.run.workload_options["isolate"]:
                folder = Path(self._part.run.workload_options["cwd"])
                working_copy.make(folder, self._scratch, results=self._logs.parents[1])
            self._fork()
            control.ranks_started([process.pid for process in self._processes.values() if process.pid])
            fault = self._watch(control, show)
            failed = fault is not None
        except (ServerGoneError, InputError) as error:
            fault = control.report(Fault(status="failed", error=str(error), rank=None, node=self._part.node))
        finally:
            self._kill(failed=failed)
        outcomes = {rank: self._outcome(rank) for rank in self._processes}
        if fault is not None and fault.status != "interrupted":
            self._keep_nccl_logs(outcomes)
        return RanksOutcome(fault=fault, outcomes=outcomes, late=len(self._late))

    def _fork(self) -> None:
        part = self._part
        spec = part.run.to_json()
        self._leftovers = Leftovers(self._server.pid)
        for place in part.places:
            rank_job = RankJob(
                spec=spec,
                rank=place.rank,
                local_rank=place.local_rank,
                node=part.node,
                local_task=part.local_task,
                cpus=place.cpus,
                **_device(place.gpu),
                shares_gpus=part.shares_gpus,
                rendezvous=part.rendezvous,
                interface=part.interface,
                scratch=str(self._scratch),
                log=str(self._log(place.rank)),
                server_pid=self._server.pid,
                variables_of_bench=self._server.variables,
            )
            self._processes[place.rank] = self._server.fork(json.dumps(rank_job.__dict__))

    def _watch(self, control: RunControl, show: Callable[[LastStep], None]) -> Fault | None:
        living = dict(self._processes)
        exit_codes: dict[int, int] = {}
        shown_file = step_file(self._scratch, min(living))
        deadline_s = math.inf
        while living:
            sentinels = [process.sentinel for process in living.values()]
            connection.wait([*sentinels, self._stop.fd, *control.wait_objects()], timeout=_TICK_S)
            for rank, process in tuple(living.items()):
                if process.exitcode is not None:
                    exit_codes[rank] = 0 if rank in self._late else process.exitcode
                    del living[rank]
                elif rank not in self._late:
                    self._end_if_late(rank, process)
            fault = self._fault(exit_codes, all_ended=not living)
            if fault is not None and fault.secondhand and living:
                deadline_s = min(deadline_s, time.monotonic() + _LOCAL_CAUSE_S)
            if fault is not None and not (fault.secondhand and living and time.monotonic() < deadline_s):
                return control.report(fault)
            fault = control.check(lambda: self._progress(living)) if living else None
            if fault is not None:
                return fault
            last = recorder.peek(shown_file)
            if last is not None:
                show(last)
        return None

    def _end_if_late(self, rank: int, process: ForkServerProcess) -> None:
        """Kill a rank that has stored its rows and its outcome, if it does not end: nothing can come from it."""
        now_s = time.monotonic()
        if rank not in self._stored_s:
            if "parameters" in self._outcome(rank):
                self._stored_s[rank] = now_s
        elif now_s - self._stored_s[rank] > _LEAVES_S:
            self._late.add(rank)
            sys.stderr.write(
                f"bench: {platform.node()}: rank {rank} of {self._part.run.run_id} had stored all of its rows and did "
                f"not end within {_LEAVES_S:g} s, so it was ended; the run is complete\n"
            )
            if process.pid:
                kill_group(process.pid)
            process.kill()

    def _fault(self, exit_codes: dict[int, int], *, all_ended: bool) -> Fault | None:
        """Why the run must end, judged by the ranks that have ended and by a requested stop, or by a launcher that the
        command has started."""
        if self._is_command and (
            refused := launchers.refused_in(self._scratch, self._part.run.workload_options)
        ):
            error, rank = refused
            return Fault(
                status="failed", error=error, rank=rank, node=self._part.node, is_of_the_command=True
            )
        limited = self._part.run.measure.memory_limit_bytes is not None
        failed = {
            rank: cause_of_death.Death(
                exit_code=code,
                outcome=ending.explained(self._part.run, rank, code, self._scratch, self._log(rank))
                if self._is_command
                else self._outcome(rank),
                limited=limited and self._part.run.device_type == "cpu",
                log=self._log(rank),
            )
            for rank, code in exit_codes.items()
            if not self._is_complete(code, self._outcome(rank))
        }
        if cause_of_death.lost_the_image(failed):
            self._stop.wait(
                unreadable_image.SIGNAL_S
            )  # the signal that ended the image is on its way to us, too
        if self._stop.requested and (failed or not all_ended):
            return Fault(status="interrupted", error=self._stop.reason, rank=None, node=None)
        if not failed:
            return None
        fault = cause_of_death.first_to_die(failed, self._part.node, self._kernel_kills_before)
        took_steps = any(step_file(self._scratch, rank).exists() for rank in self._processes)
        is_usage = self._is_command and not took_steps and set(exit_codes.values()) == {ending.USAGE}
        return replace(fault, is_of_the_command=is_usage)

    def _is_complete(self, exit_code: int, outcome: dict[str, Any]) -> bool:
        """Whether a rank has done its work. After the last step that was asked for, which ends a command, its exit code
        does not matter."""
        return "parameters" in outcome and (exit_code == 0 or "is_ended_by_us" in outcome)

    def _progress(self, living: dict[int, ForkServerProcess]) -> Progress:
        """Progress of the living ranks. Each also writes its threads' stacks into its log."""
        for process in living.values():
            if process.pid:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGUSR1)  # faulthandler's
        time.sleep(_STACKS_S)
        last_steps = {rank: recorder.peek(step_file(self._scratch, rank)) for rank in living}
        return Progress(
            node=self._part.node,
            rows={rank: last.rows if last else 0 for rank, last in last_steps.items()},
            stopped=[rank for rank, process in living.items() if process.pid and is_stopped(process.pid)],
            busy={rank: where for rank in living if (where := timeout.outside_torch(self._log(rank)))},
            places={rank: where for rank in living if (where := timeout.in_script(self._log(rank)))},
        )

    def _kill(self, *, failed: bool) -> None:
        """Kill what is left of each rank's process group: stopped ranks and loader workers, too. If the run has failed,
        end all else that the ranks have started. Waits until they have given back their memory, which the next run
        needs."""
        for process in self._processes.values():
            if process.pid:
                kill_group(process.pid)
                process.kill()  # a rank that does not lead its group yet
        left = self._leftovers.end() if failed and self._leftovers is not None else {}
        if left:
            named = ", ".join(f"{pid} ({name})" for pid, name in left.items())
            sys.stderr.write(
                f"bench: {platform.node()}: {self._part.run.run_id} has left processes that were killed and are still "
                f"running after {LIMIT_S:g} s, as if a driver or a file system held them, or another user's: {named}\n"
            )
        for process in self._processes.values():
            if process.pid in left:  # multiprocessing would wait for it at the end of this process
                multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]
            else:
                process.join()
        self._wait_for_memory()

    def _wait_for_memory(self) -> None:
        groups = [process.pid for process in self._processes.values() if process.pid]
        if not join_groups(groups, _GONE_S):
            sys.stderr.write(
                f"bench: {platform.node()}: processes of {self._part.run.run_id} were killed and still hold memory "
                f"after {_GONE_S:g} s, which the next run may lack: a driver or a file system holds them, and `dmesg` "
                "may say which; if the next run fails, restart the node and resume the session\n"
            )

    def _keep_nccl_logs(self, outcomes: dict[int, dict[str, Any]]) -> None:
        """NCCL's log is in the scratch folder, which is removed: the ranks that did not finish keep its last lines."""
        for rank, outcome in outcomes.items():
            if "parameters" not in outcome:
                with suppress(OSError):  # a full disk: the rows, which come next, say so
                    transport.keep_nccl_log(self._scratch, rank, self._log(rank))

    def _log(self, rank: int) -> Path:
        return self._logs / f"rank{rank}.log"

    def _outcome(self, rank: int) -> dict[str, Any]:
        if self._is_command and ending.has_several_processes(rank, self._scratch):
            return {}
        try:
            outcome: dict[str, Any] = json.loads(outcome_file(self._scratch, rank).read_text())
        except FileNotFoundError:
            return {}
        return outcome
