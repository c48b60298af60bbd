"""Gather a step's agents on its leading task, and dismiss them at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.agent.placement import own_offer, total
from bench.cluster.channel import Channel, Lost
from bench.cluster.meeting import Meeting
from bench.cluster.secret import secret_file, shared_secret
from bench.launch.roll_call import forget
from bench.launch.step import Step
from bench.machine import environment
from bench.records.messages import Begin, Leave, Offer
from bench.records.run_spec import Slots

_DISMISSAL_S = 60.0
"""If the session cannot begin: how long to wait for tasks that are still starting, so that each can be dismissed.
Otherwise they would wait for minutes."""


@dataclass(frozen=True, kw_only=True)
class Follower:
    """An agent other than the leader, and the connection to it."""

    offer: Offer
    channel: Channel


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """All agents of a session."""

    own: Offer
    followers: Mapping[int, Follower] = field(default_factory=dict)
    """By task."""
    address: str = "127.0.0.1"
    """The leader's IP address on the interface that leads to the others."""
    facts: Mapping[int, dict[str, str]]
    """Facts of each node (environment.gather), by its index in the session."""

    @property
    def offers(self) -> list[Offer]:
        return [self.own, *(follower.offer for follower in self.followers.values())]

    @property
    def slots(self) -> Slots:
        return total(self.offers)

    def announce_begin(self, begin: Begin) -> None:
        """Tell followers to start their fork servers. Until then they can be dismissed at once."""
        for follower in self.followers.values():
            with suppress(Lost):  # noticed when it should be ready
                follower.channel.send(begin)


class Gathering:
    """Context manager around a session on its leading task. It dismisses the followers at its end.

    Outside of a step there is nothing to gather but this task."""

    def __init__(
        self, step: Step | None, results: Path, ranks_per_node: int | None, python: str | None = None
    ) -> None:
        self._python = python
        self._own = own_offer(step, ranks_per_node)
        self._step = step if step is not None and step.tasks > 1 else None
        self._results = results
        self._followers: dict[int, Follower] = {}

    def __enter__(self) -> Self:
        if self._step is not None:
            secret = shared_secret(self._results, self._step.key)
            try:
                self._meeting = Meeting(self._step, secret)
            except BaseException:
                self._remove_files(self._step)
                raise
            others = self._step.tasks - 1
            sys.stderr.write(f"waiting for {others} other task{'s' * (others > 1)} of this step ...\n")
        return self

    def wait(self) -> Gathered:
        """Wait for every task of the step. Raises InputError that names the missing tasks."""
        own_facts = environment.gather(self._python)
        facts = {self._own.node: own_facts | _task_facts(self._own, own_facts) | self._launcher_facts()}
        if self._step is None:
            return Gathered(own=self._own, facts=facts)
        try:
            joined = self._meeting.wait()
        finally:
            self._remove_files(self._step)
        for task, one in sorted(joined.items()):
            offer = one.hello.offer
            self._followers[task] = Follower(offer=offer, channel=one.channel)
            node_facts = one.hello.facts
            facts[offer.node] = {**node_facts, **facts.get(offer.node, {}), **_task_facts(offer, node_facts)}
        if self._meeting.refused:
            sys.stderr.write(
                f"bench: {self._meeting.refused} connections were refused: they did not show in time that they know "
                "this step's secret\n"
            )
        address = self._meeting.address
        return Gathered(own=self._own, followers=self._followers, address=address, facts=facts)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._step is None:
            return
        channels = [follower.channel for follower in self._followers.values()]
        if not channels:  # `wait` was not called or not finished
            patience_s = _DISMISSAL_S if isinstance(error, Exception) else 0.0  # no wait after an interrupt
            channels = [one.channel for one in self._meeting.close_after(patience_s)]
            self._remove_files(self._step)
        for channel in channels:
            with suppress(Lost, OSError):  # gone already
                channel.send(Leave())
            channel.close()

    def _launcher_facts(self) -> dict[str, str]:
        """The launcher and its number of tasks; Slurm has facts of its own (bench/slurm/allocation.py)."""
        if self._step is None or self._step.launcher == "Slurm":
            return {}
        return {"launcher": self._step.launcher, "launcher_tasks": str(self._step.tasks)}

    def _remove_files(self, step: Step) -> None:
        """Remove the files by which the tasks have met."""
        secret_file(self._results, step.key).unlink(missing_ok=True)
        forget(self._results, step.key)


def _task_facts(offer: Offer, facts: Mapping[str, str]) -> dict[str, str]:
    """CPUs, slots and GPUs of one task: Slurm may give each task of a node its own GPUs."""
    given: dict[str, Any] = {
        "cpus": sorted(offer.cpus),
        "slots": offer.slots,
        "devices": [gpu.index for gpu in offer.gpus],
    }
    if "slurm_gpu_ids" in facts:
        given["gpu_ids"] = facts["slurm_gpu_ids"]
    return {f"task{offer.task}_{name}": str(value) for name, value in given.items()}
