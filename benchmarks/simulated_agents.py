"""Agents that host no ranks: a step's followers exchange real messages over loopback, many in one process.

Each is a thread with its own connection and runs the follower's own code of `bench/cluster`. Instead of forking ranks
and storing their rows, it reports at once or, in a run called `idle`, waits for the run's end.
"""

from __future__ import annotations

import multiprocessing as mp
import platform
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import cast

from bench.agent.fork_server import WarmServer
from bench.agent.ranks import RunControl, RunPart
from bench.agent.run import Agent
from bench.cluster.channel import Channel, Lost
from bench.cluster.follower import obey
from bench.cluster.meeting import join
from bench.cluster.secret import shared_secret
from bench.launch.step import Step
from bench.machine import environment
from bench.measure.recorder import LastStep
from bench.records.messages import Fault, Hello, Leave, Offer, Progress, Ready, Report
from bench.records.run_spec import DataSpec, MeasureSpec, RunSpec, TrainSpec
from bench.session.stop import StopRequest

RANKS = 8
"""Ranks of each agent."""
IDLE = "idle"
"""Name of the run in which agents wait until they are told to end it."""
_PER_PROCESS = 128


def step(agents: int, task: int = 0) -> Step:
    """A Slurm step with one task on each of `agents` nodes, all of them on this machine."""
    return Step(
        launcher="Slurm",
        key="7.0.0",
        node_names=("localhost",) * agents,
        tasks_per_node=(1,) * agents,
        task=task,
        local_task=0,
        node=task,
    )


def offer(task: int) -> Offer:
    return Offer(
        task=task, node=task, node_name=f"node{task:04}", local_task=0, gpus=[], seen_gpus=[],
        cores=[[cpu] for cpu in range(4 * RANKS)],
        slots=RANKS, fixed=True,
    )  # fmt: skip


class NoRanks:
    """Replaces `Agent`: a run's ranks end as soon as they start."""

    def __init__(self, task: int) -> None:
        self.scratch = Path()
        self.heard: list[str] = []
        """Runs that it was told to host, in order."""
        self.watched: dict[int, list[int]] = {}
        self._task = task

    def watch_memory(self, task: int, pids: list[int]) -> None:
        self.watched[task] = pids

    def run_part(
        self,
        part: RunPart,
        control: RunControl,
        folder: Path,  # noqa: ARG002 - Agent's signature
        show: Callable[[LastStep], None],  # noqa: ARG002 - Agent's signature
    ) -> Report:
        self.heard.append(part.run.run_id)
        ranks = [place.rank for place in part.places]
        control.ranks_started([100_000 + rank for rank in ranks])
        fault = self.idle(control) if part.run.run_id == IDLE else None
        return Report(
            fault=fault,
            rank_facts={"parameters": 1, "device_names": [platform.processor()]},
            rows=dict.fromkeys(ranks, 100),
            setup_s=0.1,
            finalised=True,
        )

    def idle(self, control: RunControl) -> Fault | None:
        """Wait until the run must end; return why. An agent with ranks would also check ten times a second, but on its
        own node."""
        while (fault := self.check(control)) is None:
            connection.wait(control.wait_objects())
        return fault

    def check(self, control: RunControl) -> Fault | None:
        return control.check(lambda: Progress(node=self._task))


class Followers:
    """All agents of a step except the first, in a few processes."""

    def __init__(self, agents: int, results: Path) -> None:
        context = mp.get_context("spawn")
        self._go = context.Event()
        tasks = list(range(1, agents))
        self._groups = [tasks[at : at + _PER_PROCESS] for at in range(0, len(tasks), _PER_PROCESS)]
        self._ends, self._processes = [], []
        for group in self._groups:
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(agents, group, results, theirs, self._go))
            process.start()
            self._ends.append(ours)
            self._processes.append(process)
        for end in self._ends:
            end.recv()  # its threads now wait for the signal

    def go(self) -> None:
        """Let all followers join."""
        self._go.set()

    def lose(self, task: int) -> None:
        """Close an agent's connection, as if it had died."""
        for end, group in zip(self._ends, self._groups, strict=True):
            if task in group:
                end.send(task)

    def heard(self) -> dict[int, list[str]]:
        """The runs that each agent was told to host, once all have left."""
        found: dict[int, list[str]] = {}
        for end, process in zip(self._ends, self._processes, strict=True):
            end.send(None)
            found |= end.recv()
            process.join()
        return found


@contextmanager
def following(agents: int, results: Path) -> Iterator[Followers]:
    followers = Followers(agents, results)
    try:
        yield followers
    finally:
        for process in followers._processes:
            if process.is_alive():
                process.kill()


@dataclass
class _Follower:
    """A follower, which runs in its own thread."""

    agents: int
    task: int
    results: Path
    facts: dict[str, str]
    host: NoRanks
    go: Event
    channel: Channel | None = None

    def follow(self) -> None:
        """Do as bench/cluster/follower.py does, without loading torch."""
        here, own = step(self.agents, self.task), offer(self.task)
        self.go.wait()
        self.channel = join(here, shared_secret(self.results, here.key))
        agent, server = cast(Agent, self.host), cast(WarmServer, _NoServer())
        with suppress(Lost):
            self.channel.send(Hello(offer=own, facts=self.facts | {"hostname": own.node_name}))
            if not isinstance(self.channel.receive(600.0), Leave):
                self.channel.send(Ready())
                obey(self.channel, own, agent, server, StopRequest())

    def die(self) -> None:
        assert self.channel is not None
        self.channel._socket.shutdown(socket.SHUT_RDWR)


def _serve(agents: int, tasks: list[int], results: Path, end: connection.Connection, go: Event) -> None:
    """Run followers in this process."""
    facts = environment.gather()
    followers = {task: _Follower(agents, task, results, facts, NoRanks(task), go) for task in tasks}
    threads = [threading.Thread(target=each.follow, daemon=True) for each in followers.values()]
    for thread in threads:
        thread.start()
    end.send("waiting")
    while (task := end.recv()) is not None:
        followers[task].die()
    for thread in threads:
        thread.join()
    end.send({task: each.host.heard for task, each in followers.items()})


class _NoServer:
    def start(self) -> None:
        """Do nothing: no ranks are forked."""


def run_spec(agents: int, run_id: str) -> RunSpec:
    """A run on every agent."""
    return RunSpec(
        session_id="benchmark", run_id=run_id, suite="benchmark", case_name="coordination", workload="spiral_mlp",
        workload_options={}, data=DataSpec(), train=TrainSpec(), measure=MeasureSpec(steps=100), strategy="ddp",
        strategy_options={}, scaling="weak", axis="ranks", workers=agents * RANKS, world_size=agents * RANKS,
        nodes=agents, ranks_per_node=RANKS, threads=1, repeat=0, device_type="cpu", batch_per_rank=16,
        global_batch=16 * RANKS * agents,
    )  # fmt: skip
