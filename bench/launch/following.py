"""A follower: an agent that hosts what its leader gives it, until the leader lets it go or is gone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import connection
from pathlib import Path
from typing import Any

from bench.container import gpus_left_out
from bench.errors import InputError
from bench.launch import environment
from bench.launch.agent import Agent
from bench.launch.crew import job_of
from bench.launch.host import Host, UnstoredError
from bench.launch.link.channel import Channel, Lost
from bench.launch.link.meeting import PATIENCE_S, join
from bench.launch.link.secret import share
from bench.launch.offer import own_offer
from bench.launch.salvage import agent_scratch
from bench.launch.stop import StopRequest
from bench.launch.warm import WarmServer
from bench.measure.recorder import LastStep
from bench.records.messages import (
    AskStanding,
    End,
    Fault,
    Hello,
    HostRun,
    Leave,
    Offer,
    Ready,
    Standing,
    Started,
    Unusable,
    Watch,
)
from bench.records.run_spec import RunSpec
from bench.slots import visible_gpus
from bench.slurm.step import Step


def follow(step: Step, results: Path, ranks_per_node: int | None) -> int:
    """Take part in a session that another task of the step leads. Returns this process's exit code."""
    try:
        offer = own_offer(step, ranks_per_node)
    except InputError as error:
        raise InputError(f"task {step.task} on {step.node_names[step.node]}: {error}") from error
    left_out = gpus_left_out(visible_gpus())
    if left_out is not None:
        sys.stderr.write(f"bench: {offer.node_name}: {left_out}\n")
    hello = Hello(offer=offer, facts=environment.gather())  # the leader does not wait long for it
    channel = join(step, share(results, step.key))
    try:
        channel.send(hello)
        if isinstance(channel.receive(2 * PATIENCE_S), Leave):
            return 0
        return _serve(channel, offer)
    except Lost as error:
        sys.stderr.write(f"bench: task {step.task} on {offer.node_name}: the leading task is gone: {error}\n")
        return 1
    finally:
        channel.close()


def _serve(channel: Channel, offer: Offer) -> int:
    server = WarmServer()
    try:
        server.start()
    except InputError as error:
        channel.send(Unusable(reason=str(error)))
        return 2
    with StopRequest() as stop, agent_scratch() as scratch:
        host = Host(Agent(server, stop), scratch, offer.task)
        channel.send(Ready())
        try:
            return _host_until_dismissed(channel, offer, host, server, stop)
        except UnstoredError as error:
            remedy = "copy the .raw files there into the run's folder once it can be written: `bench load` stores them"
            raise InputError(f"task {offer.task} on {offer.node_name}: {error}: {remedy}") from error
        finally:
            host.stop()


def _host_until_dismissed(
    channel: Channel, offer: Offer, host: Host, server: WarmServer, stop: StopRequest
) -> int:
    while not stop.requested:
        connection.wait([channel.fileno(), stop.fd])
        while not stop.requested and (order := channel.poll()) is not None:
            if isinstance(order, Leave):
                return 0
            if isinstance(order, HostRun):
                orders = Following(channel, offer, host, stop)
                job = job_of(
                    RunSpec.from_json(order.run), offer, order.places, order.rendezvous, channel.own_address
                )
                report = host.host(job, orders, Path(order.folder), _nobody)
                channel.send(report)
                if report.fault is not None and not stop.requested:
                    server.start()  # what ended the run may have ended the server too; alive, it answers at once
    return stop.exit_code


class Following:
    """Orders (bench/launch/orders.py) of a follower."""

    def __init__(self, channel: Channel, offer: Offer, host: Host, stop: StopRequest) -> None:
        self._channel = channel
        self._offer = offer
        self._host = host
        self._stop = stop

    def waits(self) -> list[Any]:
        return [self._channel]

    def started(self, pids: list[int]) -> None:
        self._host.watch(self._offer.task, pids)
        with suppress(Lost):  # `look` finds that out
            self._channel.send(Started(pids=pids))

    def look(self, standing: Callable[[], Standing]) -> Fault | None:
        try:
            while (order := self._channel.poll()) is not None:
                match order:
                    case End():
                        return order.fault
                    case AskStanding():
                        self._channel.send(standing())
                    case Watch():
                        self._host.watch(order.task, order.pids)
                    case _:
                        pass
        except Lost as error:
            # told apart from a signal: nobody is left who would write the run's outcome
            return Fault(
                status="interrupted", error=f"the leading agent is gone: {error}", rank=None, node=None
            )
        return None

    def report(self, fault: Fault) -> Fault:
        with suppress(Lost):  # the leader is gone too: what was measured is kept all the same
            self._channel.send(fault)
        return fault


def _nobody(last: LastStep) -> None:
    """The leader alone shows how it goes."""
