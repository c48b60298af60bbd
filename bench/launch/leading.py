"""The leader's orders for one run: its own ranks, its followers' news, the time limit, and the stop file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from multiprocessing import connection
from pathlib import Path
from typing import Any

from bench.launch.gathering import Follower
from bench.launch.link.channel import Lost
from bench.launch.link.hub import Hub
from bench.launch.stop import StopRequest
from bench.launch.timeout import timed_out
from bench.records.messages import AskStanding, End, Fault, Message, Report, Standing, Started
from bench.records.run_spec import RunSpec

_CAUSE_S = 2.0
"""A lost connection is heard of at once, what ended the other side within this."""
_ANSWER_S = 5.0
"""For followers to say how far their ranks are; stacks take half a second."""
_REPORT_S = 20.0
"""For followers to end their ranks and store their rows. One that takes longer is lost."""
_STOP_FILE_S = 1.0
"""How often the leader looks for the stop file, which may lie on a shared file system."""


class Leading:
    """Orders (bench/launch/orders.py) of the leader; without followers, of an agent that is alone."""

    def __init__(
        self,
        run: RunSpec,
        followers: Mapping[int, Follower],
        stop: StopRequest,
        stop_file: Path,
        watch: Callable[[int, list[int]], None],
    ) -> None:
        self._run = run
        self._followers = followers
        self._channels = {task: follower.channel for task, follower in followers.items()}
        """Of those who have not said yet how the run went."""
        self._hub = Hub(self._channels)
        self._stop = stop
        self._stop_file = stop_file
        self._watch = watch
        self._deadline_s = time.monotonic() + run.measure.timeout_s
        self._next_look_s = 0.0
        self._faults: list[Fault] = []
        self._own_ended = False
        self._standings: dict[int, Standing] = {}
        self._reports: dict[int, Report] = {}
        self.lost: dict[int, str] = {}
        """Why, by task."""

    def send(self, task: int, message: Message) -> None:
        """To one follower; one that does not take it is lost."""
        try:
            self._channels[task].send(message)
        except Lost as error:
            self._lose(task, error)

    def waits(self) -> list[Any]:
        return [self._hub] if self._channels else []

    def started(self, pids: list[int]) -> None:
        self._watch(0, pids)

    def look(self, standing: Callable[[], Standing]) -> Fault | None:
        self._look_for_the_stop_file()
        self._hear()
        if self._faults:
            return self._tell(self._first_cause())
        if time.monotonic() > self._deadline_s and (not self._own_ended or self._channels):
            return self._tell(self._overdue(standing()))
        return None

    def report(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        return self._tell(self._first_cause())

    def finish(self, own: Report) -> list[Report]:
        """Wait for the followers' reports. The first one, the leader's, says why the run ended, whoever found out."""
        fault = own.fault
        self._own_ended = True
        # ranks end together, the leader's have: what is left to the others is to store their rows
        self._deadline_s = max(self._deadline_s, time.monotonic() + _REPORT_S)
        while fault is None and self._channels:
            connection.wait([*self.waits(), self._stop.fd], timeout=_STOP_FILE_S)
            if self._stop.requested:
                fault = self.report(
                    Fault(status="interrupted", error=self._stop.reason, rank=None, node=None)
                )
            else:
                fault = self.look(lambda: Standing(node=0))
        self._collect()
        self._hub.close()
        return [replace(own, fault=fault), *self._reports.values()]

    def _tell(self, fault: Fault) -> Fault:
        """Every follower ends its ranks now."""
        for task in list(self._channels):
            self.send(task, End(fault=fault))
        return fault

    def _collect(self) -> None:
        deadline = time.monotonic() + _REPORT_S
        while self._channels and time.monotonic() < deadline:
            connection.wait(self.waits(), timeout=0.5)
            self._hear()
        for task in list(self._channels):
            self._lose(task, Lost(f"it did not end its ranks within {_REPORT_S:g} s"))

    def _hear(self) -> None:
        for task in self._hub.ready():
            try:
                while task in self._channels and (news := self._channels[task].poll()) is not None:
                    self._take(task, news)
            except Lost as error:
                self._lose(task, error)

    def _take(self, task: int, news: Message) -> None:
        match news:
            case Fault():
                self._faults.append(news)
            case Started():
                self._watch(task, news.pids)
            case Standing():
                self._standings[task] = news
            case Report():
                self._reports[task] = news
                self._leave_out(task)
            case _:
                pass  # said before this run

    def _lose(self, task: int, error: Lost) -> None:
        offer = self._followers[task].offer
        self.lost[task] = f"the agent of task {task} on {offer.node_name} is gone: {error}"
        self._faults.append(Fault(status="failed", error=self.lost[task], rank=None, node=offer.node))
        self._leave_out(task)

    def _leave_out(self, task: int) -> None:
        """Nothing more of this run is to be heard from it."""
        self._hub.leave_out(task)
        del self._channels[task]

    def _first_cause(self) -> Fault:
        """The first fault that is no consequence of another; those are waited for, for a moment."""
        deadline = time.monotonic() + _CAUSE_S
        while all(fault.secondhand for fault in self._faults) and self._channels:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                break
            connection.wait(self.waits(), timeout=left_s)
            self._hear()
        return next((fault for fault in self._faults if not fault.secondhand), self._faults[0])

    def _overdue(self, own: Standing) -> Fault:
        for task in list(self._channels):
            self.send(task, AskStanding())
        deadline = time.monotonic() + _ANSWER_S
        while self._silent() and time.monotonic() < deadline:
            connection.wait(self.waits(), timeout=0.5)
            self._hear()
        silent = [self._followers[task].offer.node_name for task in sorted(self._silent())]
        return timed_out(self._run, [own, *self._standings.values()], silent)

    def _silent(self) -> set[int]:
        """Followers that have not said how far their ranks are."""
        return self._channels.keys() - self._standings.keys()

    def _look_for_the_stop_file(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + _STOP_FILE_S
            self._stop.look_for(self._stop_file)
