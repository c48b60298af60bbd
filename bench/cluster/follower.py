"""A follower: an agent that hosts the ranks its leader assigns to it, until the leader dismisses it or is gone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.agent.fork_server import WarmServer
from bench.agent.placement import own_offer
from bench.agent.run import Agent, UnstoredError
from bench.cluster.agents import run_part
from bench.cluster.channel import Channel, Lost
from bench.cluster.meeting import PATIENCE_S, join
from bench.cluster.secret import shared_secret
from bench.common.errors import InputError
from bench.launch.step import Step
from bench.machine import environment, gpus
from bench.machine.hidden_gpus import gpus_left_out
from bench.measure.recorder import LastStep
from bench.records.messages import (
    AskProgress,
    Begin,
    End,
    Fault,
    Hello,
    HostRun,
    Leave,
    Offer,
    Progress,
    Ready,
    Started,
    Unusable,
    Watch,
)
from bench.records.run_spec import RunSpec
from bench.session.recovery import agent_scratch
from bench.session.stop import StopRequest

_GPUS_S = 120.0
"""Longest time for the first use of this agent's GPUs."""


def follow(step: Step, results: Path, ranks_per_node: int | None, python: str | None = None) -> int:
    """Take part in a session that another task of the step leads. Returns this process's exit code."""
    try:
        offer = own_offer(step, ranks_per_node)
    except InputError as error:
        raise InputError(f"task {step.task} on {step.node_names[step.node]}: {error}") from error
    left_out = gpus_left_out(len(gpus.visible()))
    if left_out is not None:
        sys.stderr.write(f"bench: {offer.node_name}: {left_out}\n")
    hello = Hello(
        offer=offer, facts=environment.gather(python)
    )  # before joining: then the leader waits only seconds for it
    channel = join(step, shared_secret(results, step.key))
    try:
        channel.send(hello)
        begin = channel.receive(2 * PATIENCE_S)
        return _take_part(channel, offer, begin, python) if isinstance(begin, Begin) else 0
    except Lost as error:
        sys.stderr.write(f"bench: task {step.task} on {offer.node_name}: the leading task is gone: {error}\n")
        return 1
    finally:
        channel.close()


def _take_part(channel: Channel, offer: Offer, begin: Begin, python: str | None) -> int:
    server = WarmServer(loads_torch=begin.loads_torch, python=python)
    try:
        server.start()
        gpus_json = json.dumps([asdict(gpu) for gpu in offer.gpus])
        if begin.uses_gpus and (
            problem := server.ask("bench.train.check_gpus", gpus_json, receive=_within_limit)
        ):
            raise InputError(problem)
    except InputError as error:
        channel.send(Unusable(reason=str(error)))
        return 2
    with StopRequest() as stop, agent_scratch() as scratch:
        agent = Agent(server, stop, scratch, offer.task)
        channel.send(Ready())
        try:
            return obey(channel, offer, agent, server, stop)
        except UnstoredError as error:
            remedy = "copy the .raw files there into the run's folder once it can be written: `bench load` stores them"
            raise InputError(f"task {offer.task} on {offer.node_name}: {error}: {remedy}") from error
        finally:
            agent.stop()


def _within_limit(answer: Connection, _pid: int) -> bytes:
    if not answer.poll(_GPUS_S):
        raise InputError(f"its GPUs could not be used within {_GPUS_S:g} s: the driver may hang")
    return answer.recv_bytes()


def obey(channel: Channel, offer: Offer, agent: Agent, server: WarmServer, stop: StopRequest) -> int:
    """Host the runs that the leader orders until it dismisses this agent or a stop is requested. Returns an exit code.

    Raises Lost if the leader is gone."""
    while not stop.requested:
        connection.wait([channel.fileno(), stop.fd])
        while not stop.requested and (order := channel.poll()) is not None:
            if isinstance(order, Leave):
                return 0
            if isinstance(order, HostRun):
                run = RunSpec.from_json(order.run)
                part = run_part(run, offer, order, channel.own_address)
                control = FollowerControl(channel, offer, agent)
                report = agent.run_part(part, control, Path(order.folder), _show_nothing)
                channel.send(report)
                if report.fault is not None and not stop.requested:
                    server.start()  # the fault may have ended the server, too; if not, it answers at once
    return stop.exit_code


class FollowerControl:
    """RunControl (bench/agent/ranks.py) of a follower."""

    def __init__(self, channel: Channel, offer: Offer, agent: Agent) -> None:
        self._channel = channel
        self._offer = offer
        self._agent = agent

    def wait_objects(self) -> list[Any]:
        return [self._channel]

    def ranks_started(self, pids: list[int]) -> None:
        self._agent.watch_memory(self._offer.task, pids)
        with suppress(Lost):  # `check` notices it
            self._channel.send(Started(pids=pids))

    def check(self, progress: Callable[[], Progress]) -> Fault | None:
        try:
            while (order := self._channel.poll()) is not None:
                match order:
                    case End():
                        return order.fault
                    case AskProgress():
                        self._channel.send(progress())
                    case Watch():
                        self._agent.watch_memory(order.task, order.pids)
                    case _:
                        pass
        except Lost as error:
            # `interrupted` keeps the raw files: no leader is left to write the run's outcome
            return Fault(
                status="interrupted", error=f"the leading agent is gone: {error}", rank=None, node=None
            )
        return None

    def report(self, fault: Fault) -> Fault:
        with suppress(Lost):  # the leader is gone, too; the rows are kept all the same
            self._channel.send(fault)
        return fault


def _show_nothing(last: LastStep) -> None:
    """Only the leader shows progress."""
