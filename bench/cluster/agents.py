"""The agents of a session, as the leader sees them: which are left, and which part of a run each gets.

Without Slurm the leader is the only agent.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from multiprocessing.connection import wait
from pathlib import Path

import psutil

from bench.agent.placement import place_ranks, shares_gpus
from bench.agent.ranks import RunPart
from bench.agent.run import Agent
from bench.cluster.channel import Hub, Lost
from bench.cluster.gather import Gathered
from bench.cluster.leader import LeaderControl
from bench.measure.recorder import LastStep
from bench.records.messages import HostRun, Offer, Place, Report, Unusable, Watch
from bench.records.run_spec import RunSpec
from bench.session.stop import StopRequest
from bench.train import process_group

READY_S = 300.0
"""Longest time for a follower to import torch and to try its GPUs."""


class Agents:
    """One session's agents. A follower that is lost is not used again."""

    def __init__(self, gathered: Gathered, agent: Agent, stop: StopRequest, stop_file: Path) -> None:
        self._own = gathered.own
        self._agent = agent
        self._followers = dict(gathered.followers)
        self._address = gathered.address
        self._stop = stop
        last_first = sorted(gathered.offers, key=lambda offer: offer.local_task, reverse=True)
        self._first_of_node = {offer.node: offer.task for offer in last_first}
        """By node, the task that reads its sensors."""
        self._stop_file = stop_file
        self.lost: dict[int, str] = {}
        """By task, why an agent is gone."""

    def await_ready(self) -> None:
        """Wait until every follower has imported torch and tried its GPUs or is lost, or a stop is requested."""
        waiting = set(self._followers)
        with closing(Hub({task: follower.channel for task, follower in self._followers.items()})) as hub:
            deadline, look_s = time.monotonic() + READY_S, 0.0
            while waiting and not self._stop.requested:
                wait([hub.fileno(), self._stop.fd], timeout=1.0)
                late = time.monotonic() > deadline
                for task in list(waiting) if late else hub.ready():
                    if self._is_ready_or_lost(task, late=late):
                        waiting.discard(task)
                        hub.leave_out(task)
                if time.monotonic() > look_s:  # not more often: the file may be on a shared file system
                    look_s = time.monotonic() + 1.0
                    self._stop.look_for(self._stop_file)

    def _is_ready_or_lost(self, task: int, *, late: bool) -> bool:
        follower = self._followers[task]
        try:
            message = follower.channel.poll()
            if message is None and late:
                raise Lost(f"it did not load torch and try its GPUs within {READY_S:g} s")
            if isinstance(message, Unusable):
                raise Lost(message.reason)
        except Lost as error:
            self._lose(task, f"task {task} on {follower.offer.node_name}: {error}")
            return True
        return message is not None

    def cannot_run(self, run: RunSpec) -> str | None:
        """Why the agents that are left cannot host the run; null if they can."""
        for task, follower in list(self._followers.items()):
            try:
                while follower.channel.poll() is not None:
                    pass  # late messages about an earlier run
            except Lost as error:
                self._lose(task, f"the agent of task {task} on {follower.offer.node_name} is gone: {error}")
        try:
            self._places(run)
        except LookupError as error:
            return str(error)
        return None

    def nodes(self, run: RunSpec) -> list[int]:
        """Indices of the nodes that will host the run. Raises LookupError if the agents that are left cannot."""
        tasks = self._places(run)
        return sorted({offer.node for offer in self._offers() if offer.task in tasks})

    def run(self, run: RunSpec, folder: Path, show: Callable[[LastStep], None]) -> list[Report]:
        """Execute the run. Returns a report of every agent that hosted ranks and is left, the leader's first."""
        places = self._places(run)
        with ExitStack() as reserved:
            if run.runs_a_command:
                # held until the run has ended: rank 0 of the command listens at this port, and no other program gets it
                address = self._address if len(places) > 1 else "127.0.0.1"
                port = reserved.enter_context(process_group.reserve(address)).getsockname()[1]
                rendezvous = f"env://{address}:{port}"
            elif len(places) == 1:
                rendezvous = f"file://{self._agent.scratch}/rendezvous-{run.run_id}.{run.attempt}"
            else:
                port = reserved.enter_context(process_group.reserve(self._address)).getsockname()[1]
                rendezvous = f"store://{self._address}:{port}/{os.urandom(16).hex()}"
            followers = {task: self._followers[task] for task in places if task != self._own.task}
            control = LeaderControl(run, followers, self._stop, self._stop_file, self._watch_memory)
            spec, sharing = run.to_json(), shares_gpus(places, self._offers())
            orders = {
                task: HostRun(
                    run=spec,
                    places=here,
                    rendezvous=rendezvous,
                    shares_gpus=sharing,
                    folder=str(folder.resolve()),
                )
                for task, here in places.items()
            }
            for task in followers:
                control.send(task, orders[task])
            part = run_part(run, self._own, orders[self._own.task], self._address)
            reports = control.finish(self._agent.run_part(part, control, folder, show))
        for task, reason in control.lost.items():
            self._lose(task, reason)
        return reports

    def run_scratch(self, run: RunSpec) -> Path:
        """The leader's scratch folder of a run."""
        return self._agent.run_scratch(run)

    def _offers(self) -> list[Offer]:
        return [self._own, *(follower.offer for follower in self._followers.values())]

    def _places(self, run: RunSpec) -> dict[int, list[Place]]:
        """Places of the ranks by task. Raises LookupError if the agents that are left cannot host the run."""
        return place_ranks(run, self._offers())

    def _watch_memory(self, task: int, pids: list[int]) -> None:
        """Have the memory of an agent's ranks summed by the first agent of their node."""
        if task not in self._followers:
            self._agent.watch_memory(self._own.task, pids)
            return
        first = self._first_of_node[self._followers[task].offer.node]
        if first == self._own.task:
            self._agent.watch_memory(task, pids)
        elif first != task and first in self._followers:
            with suppress(Lost):  # noticed when its ranks are waited for
                self._followers[first].channel.send(Watch(task=task, pids=pids))

    def _lose(self, task: int, reason: str) -> None:
        self.lost[task] = reason
        self._followers.pop(task).channel.close()


def run_part(run: RunSpec, offer: Offer, order: HostRun, address: str) -> RunPart:
    """One agent's part of a run; `address` is the agent's own IP address."""
    return RunPart(
        run=run,
        node=offer.node,
        local_task=offer.local_task,
        places=order.places,
        rendezvous=order.rendezvous,
        interface=interface_for(run, address),
        shares_gpus=order.shares_gpus,
    )


def interface_for(run: RunSpec, address: str) -> str | None:
    """Network interface on which the ranks of this node meet the others; null if no interface has `address`."""
    if run.nodes == 1:
        return "lo"
    found = [
        name
        for name, addresses in psutil.net_if_addrs().items()
        if any(one.family == socket.AF_INET and one.address == address for one in addresses)
    ]
    return found[0] if found else None
