"""The leader's control of one run: its followers' messages, the time limit and the stop file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from multiprocessing import connection
from pathlib import Path
from typing import Any

from bench.agent.timeout import timed_out
from bench.cluster.channel import Hub, Lost
from bench.cluster.gather import Follower
from bench.records.messages import AskProgress, End, Fault, Message, Progress, Report, Started
from bench.records.run_spec import RunSpec
from bench.session.stop import StopRequest

_CAUSE_S = 5.0
"""Time in which the cause of a lost connection becomes known; the loss itself is noticed at once."""
_ANSWER_S = 5.0
"""Time for followers to report their progress; writing stacks takes half a second."""
_REPORT_S = 20.0
"""Time for followers to end their ranks and store their rows. A follower that takes longer is lost."""
_STOP_FILE_S = 1.0
"""Interval between looks for the stop file, which may be on a shared file system."""


class LeaderControl:
    """RunControl (bench/agent/ranks.py) of the leader; without followers, of a lone agent."""

    def __init__(
        self,
        run: RunSpec,
        followers: Mapping[int, Follower],
        stop: StopRequest,
        stop_file: Path,
        watch_memory: Callable[[int, list[int]], None],
    ) -> None:
        """`watch_memory` is called with a task and the process ids of its ranks once they run."""
        self._run = run
        self._followers = followers
        self._channels = {task: follower.channel for task, follower in followers.items()}
        """Channels of followers that have not reported yet how the run went."""
        self._hub = Hub(self._channels)
        self._stop = stop
        self._stop_file = stop_file
        self._watch_memory = watch_memory
        self._deadline_s = time.monotonic() + run.measure.timeout_s
        self._next_look_s = 0.0
        self._faults: list[Fault] = []
        self._own_ended = False
        self._progress: dict[int, Progress] = {}
        self._reports: dict[int, Report] = {}
        self.lost: dict[int, str] = {}
        """By task, why a follower is gone."""

    def send(self, task: int, message: Message) -> None:
        """Send to one follower. A follower that does not accept it is lost."""
        try:
            self._channels[task].send(message)
        except Lost as error:
            self._lose(task, error)

    def wait_objects(self) -> list[Any]:
        return [self._hub] if self._channels else []

    def ranks_started(self, pids: list[int]) -> None:
        self._watch_memory(0, pids)

    def check(self, progress: Callable[[], Progress]) -> Fault | None:
        now_s = time.monotonic()
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + _STOP_FILE_S
            self._stop.look_for(self._stop_file)
        self._receive()
        if self._faults:
            return self._end_all(self._first_cause())
        if time.monotonic() > self._deadline_s and (not self._own_ended or self._channels):
            return self._end_all(self._overdue(progress()))
        return None

    def report(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        return self._end_all(self._first_cause())

    def finish(self, own: Report) -> list[Report]:
        """Wait for the followers' reports. Returns all reports; the first, the leader's `own`, has the run's fault."""
        fault = own.fault
        self._own_ended = True
        # ranks end together, and the leader's have ended: the followers only have to store their rows
        self._deadline_s = max(self._deadline_s, time.monotonic() + _REPORT_S)
        while fault is None and self._channels:
            connection.wait([*self.wait_objects(), self._stop.fd], timeout=_STOP_FILE_S)
            if self._stop.requested:
                fault = self.report(
                    Fault(status="interrupted", error=self._stop.reason, rank=None, node=None)
                )
            else:
                fault = self.check(lambda: Progress(node=0))
        deadline = time.monotonic() + _REPORT_S
        while self._channels and time.monotonic() < deadline:
            connection.wait(self.wait_objects(), timeout=0.5)
            self._receive()
        for task in list(self._channels):
            self._lose(task, Lost(f"it did not end its ranks within {_REPORT_S:g} s"))
        self._hub.close()
        return [replace(own, fault=fault), *self._reports.values()]

    def _end_all(self, fault: Fault) -> Fault:
        """Tell every follower to end its ranks."""
        for task in list(self._channels):
            self.send(task, End(fault=fault))
        return fault

    def _receive(self) -> None:
        """Take every message that has arrived."""
        for task in self._hub.ready():
            try:
                while task in self._channels and (message := self._channels[task].poll()) is not None:
                    self._take(task, message)
            except Lost as error:
                self._lose(task, error)

    def _take(self, task: int, message: Message) -> None:
        match message:
            case Fault():
                self._faults.append(message)
            case Started():
                self._watch_memory(task, message.pids)
            case Progress():
                self._progress[task] = message
            case Report():
                self._reports[task] = message
                self._leave_out(task)
            case _:
                pass  # of an earlier run

    def _lose(self, task: int, error: Lost) -> None:
        offer = self._followers[task].offer
        self.lost[task] = f"the agent of task {task} on {offer.node_name} is gone: {error}"
        self._faults.append(Fault(status="failed", error=self.lost[task], rank=None, node=offer.node))
        self._leave_out(task)

    def _leave_out(self, task: int) -> None:
        """Expect no more messages about this run from a follower."""
        self._hub.leave_out(task)
        del self._channels[task]

    def _first_cause(self) -> Fault:
        """The first fault that is not a consequence of another; waits for one for a moment."""
        deadline = time.monotonic() + _CAUSE_S
        while all(fault.secondhand for fault in self._faults) and self._channels:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                break
            connection.wait(self.wait_objects(), timeout=left_s)
            self._receive()
        return next((fault for fault in self._faults if not fault.secondhand), self._faults[0])

    def _overdue(self, own: Progress) -> Fault:
        """The fault of a run that exceeded its time limit, from the progress of all agents that answer."""
        for task in list(self._channels):
            self.send(task, AskProgress())
        deadline = time.monotonic() + _ANSWER_S
        while (silent := self._channels.keys() - self._progress.keys()) and time.monotonic() < deadline:
            connection.wait(self.wait_objects(), timeout=0.5)
            self._receive()
        names = [self._followers[task].offer.node_name for task in sorted(silent)]
        return timed_out(self._run, [own, *self._progress.values()], names)
