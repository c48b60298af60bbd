"""The agents of a session, as their leader sees them: who there is, and what each is to host. Alone, it is itself."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from multiprocessing.connection import wait
from pathlib import Path

import psutil

from bench.launch.agent import HostJob
from bench.launch.gathering import Gathered
from bench.launch.host import Host
from bench.launch.leading import Leading
from bench.launch.link.channel import Lost
from bench.launch.link.hub import Hub
from bench.launch.places import places
from bench.launch.stop import StopRequest
from bench.measure.recorder import LastStep
from bench.records.messages import HostRun, Offer, Place, Report, Unusable, Watch
from bench.records.run_spec import RunSpec
from bench.train import group

READY_S = 300.0
"""For a follower to import torch."""


class Crew:
    """One session's agents. Followers that are lost stay lost."""

    def __init__(self, gathered: Gathered, host: Host, stop: StopRequest, stop_file: Path) -> None:
        self._own = gathered.own
        self._host = host
        self._followers = dict(gathered.followers)
        self._address = gathered.address
        self._stop = stop
        self._first_of_node = _first_of_node(gathered.offers)
        self._stop_file = stop_file
        self.lost: dict[int, str] = {}
        """Why, by task."""

    def await_ready(self) -> None:
        """Every follower has torch imported, or a stop is requested. A follower that cannot is lost."""
        waiting = set(self._followers)
        with closing(Hub({task: follower.channel for task, follower in self._followers.items()})) as hub:
            deadline, look_s = time.monotonic() + READY_S, 0.0
            while waiting and not self._stop.requested:
                wait([hub.fileno(), self._stop.fd], timeout=1.0)
                late = time.monotonic() > deadline
                for task in list(waiting) if late else hub.ready():
                    if self._is_ready(task, late=late):
                        waiting.discard(task)
                        hub.leave_out(task)
                if time.monotonic() > look_s:  # it may lie on a shared file system
                    look_s = time.monotonic() + 1.0
                    self._stop.look_for(self._stop_file)

    def _is_ready(self, task: int, *, late: bool) -> bool:
        """Whether nothing more is to be waited for: the follower is ready, or it is lost."""
        follower = self._followers[task]
        try:
            news = follower.channel.poll()
            if news is None and late:
                raise Lost(f"it did not load torch within {READY_S:g} s")
            if isinstance(news, Unusable):
                raise Lost(news.reason)
        except Lost as error:
            self._lose(task, f"task {task} on {follower.offer.node_name}: {error}")
            return True
        return news is not None

    def why_not(self, run: RunSpec) -> str | None:
        """Why those who are left cannot host it; null where they can."""
        self._look_for_the_lost()
        try:
            self._places(run)
        except LookupError as error:
            return str(error)
        return None

    def host(self, run: RunSpec, folder: Path, show: Callable[[LastStep], None]) -> list[Report]:
        """Run it; a report of every agent that hosted ranks and still is, this one's first."""
        where = self._places(run)
        with ExitStack() as reserved:
            rendezvous = self._rendezvous(run, where, reserved)
            others = {task: self._followers[task] for task in where if task != self._own.task}
            leading = Leading(run, others, self._stop, self._stop_file, self._watch)
            spec = run.to_json()
            for task in others:
                order = HostRun(
                    run=spec, places=where[task], rendezvous=rendezvous, folder=str(folder.resolve())
                )
                leading.send(task, order)
            own = job_of(run, self._own, where[self._own.task], rendezvous, self._address)
            reports = leading.finish(self._host.host(own, leading, folder, show))
        for task, why in leading.lost.items():
            self._lose(task, why)
        return reports

    def _places(self, run: RunSpec) -> dict[int, list[Place]]:
        """Which agent hosts which ranks. Raises LookupError with the reason where those that are left cannot."""
        return places(run, [self._own, *(follower.offer for follower in self._followers.values())])

    def nodes(self, run: RunSpec) -> list[int]:
        """Which nodes of the session are to host it. Raises LookupError where those that are left cannot."""
        offers = [self._own, *(follower.offer for follower in self._followers.values())]
        tasks = self._places(run)
        return sorted({offer.node for offer in offers if offer.task in tasks})

    def run_scratch(self, run: RunSpec) -> Path:
        """This agent's folder of a run."""
        return self._host.run_scratch(run)

    def _rendezvous(self, run: RunSpec, where: dict[int, list[Place]], reserved: ExitStack) -> str:
        if len(where) == 1:
            return f"file://{self._host.scratch}/rendezvous-{run.run_id}.{run.attempt}"
        port = reserved.enter_context(group.reserve(self._address)).getsockname()[1]
        return f"store://{self._address}:{port}/{os.urandom(16).hex()}"

    def _watch(self, task: int, pids: list[int]) -> None:
        """A follower's ranks run: the first agent of their node sums their memory."""
        if task not in self._followers:
            self._host.watch(self._own.task, pids)
            return
        first = self._first_of_node[self._followers[task].offer.node]
        if first == self._own.task:
            self._host.watch(task, pids)
        elif first != task and first in self._followers:
            with suppress(Lost):  # who hosts its ranks finds that out
                self._followers[first].channel.send(Watch(task=task, pids=pids))

    def _look_for_the_lost(self) -> None:
        for task, follower in list(self._followers.items()):
            try:
                while follower.channel.poll() is not None:
                    pass  # what was still said of an earlier run
            except Lost as error:
                self._lose(task, f"the agent of task {task} on {follower.offer.node_name} is gone: {error}")

    def _lose(self, task: int, why: str) -> None:
        self.lost[task] = why
        self._followers.pop(task).channel.close()


def _first_of_node(offers: Sequence[Offer]) -> dict[int, int]:
    """The task of each node that reads its sensors."""
    last_first = sorted(offers, key=lambda offer: offer.local_task, reverse=True)
    return {offer.node: offer.task for offer in last_first}


def job_of(run: RunSpec, offer: Offer, here: list[Place], rendezvous: str, address: str) -> HostJob:
    """One agent's part; `address` is its own."""
    return HostJob(
        run=run,
        node=offer.node,
        local_task=offer.local_task,
        places=here,
        rendezvous=rendezvous,
        interface=interface_for(run, address),
    )


def interface_for(run: RunSpec, address: str) -> str | None:
    """The network interface that gloo is to use here; null where the user has said so."""
    if run.nodes == 1:
        return "lo"
    if "GLOO_SOCKET_IFNAME" in os.environ:
        return None
    found = [
        name
        for name, addresses in psutil.net_if_addrs().items()
        if any(one.family == socket.AF_INET and one.address == address for one in addresses)
    ]
    return found[0] if found else None
