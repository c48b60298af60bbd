"""The beginning and the end of a step's crew, on its leading task: who is here, and that everyone may go."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.launch import environment
from bench.launch.link.channel import Channel, Lost
from bench.launch.link.meeting import Meeting
from bench.launch.link.secret import secret_file, share
from bench.launch.offer import own_offer, total
from bench.records.messages import Begin, Leave, Offer
from bench.records.run_spec import Slots
from bench.slurm.step import Step

_DISMISSAL_S = 60.0
"""For tasks that are still starting when the session cannot begin: each is told, or it would wait for minutes."""


@dataclass(frozen=True, kw_only=True)
class Follower:
    """Another agent."""

    offer: Offer
    channel: Channel


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """Everyone who can host ranks."""

    own: Offer
    followers: Mapping[int, Follower] = field(default_factory=dict)
    """By task."""
    address: str = "127.0.0.1"
    """The leader's, on the interface that the others reach it by."""
    facts: Mapping[int, dict[str, str]]
    """What each node is, by its number."""

    @property
    def offers(self) -> list[Offer]:
        return [self.own, *(follower.offer for follower in self.followers.values())]

    @property
    def slots(self) -> Slots:
        return total(self.offers)

    def say_that_it_begins(self) -> None:
        """Followers may load torch; until then they can be let go at once."""
        for follower in self.followers.values():
            with suppress(Lost):  # missed when it is waited for
                follower.channel.send(Begin())


class Gathering:
    """Within `with`, the leading task of a step; outside of a step, the only one."""

    def __init__(self, step: Step | None, results: Path, ranks_per_node: int | None) -> None:
        self._own = own_offer(step, ranks_per_node)
        self._step = step if step is not None and step.tasks > 1 else None
        self._results = results
        self._followers: dict[int, Follower] = {}

    def __enter__(self) -> Self:
        if self._step is not None:
            secret = share(self._results, self._step.key)
            try:
                self._meeting = Meeting(self._step, secret)
            except BaseException:
                secret_file(self._results, self._step.key).unlink(missing_ok=True)
                raise
            others = self._step.tasks - 1
            sys.stderr.write(f"waiting for {others} other task{'s' * (others > 1)} of this step ...\n")
        return self

    def wait(self) -> Gathered:
        """Until everyone is here. Raises InputError with the tasks that are not."""
        own_facts = environment.gather()
        facts = {self._own.node: own_facts | _task_facts(self._own, own_facts)}
        if self._step is None:
            return Gathered(own=self._own, facts=facts)
        try:
            joined = self._meeting.wait()
        finally:
            secret_file(self._results, self._step.key).unlink(missing_ok=True)
        for task, one in sorted(joined.items()):
            offer = one.hello.offer
            self._followers[task] = Follower(offer=offer, channel=one.channel)
            said = one.hello.facts
            facts[offer.node] = {**said, **facts.get(offer.node, {}), **_task_facts(offer, said)}
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
        if not channels:  # nobody was waited for yet; whoever interrupts does not wait either
            patience_s = _DISMISSAL_S if isinstance(error, Exception) else 0.0
            channels = [one.channel for one in self._meeting.whoever_comes(patience_s)]
            secret_file(self._results, self._step.key).unlink(missing_ok=True)
        for channel in channels:
            _dismiss(channel)


def _task_facts(offer: Offer, facts: Mapping[str, str]) -> dict[str, str]:
    """What one task of a node was given; Slurm may have given each its own GPUs."""
    given: dict[str, Any] = {"cpus": offer.cpus, "slots": offer.slots, "devices": offer.devices}
    if "slurm_gpu_ids" in facts:
        given["gpu_ids"] = facts["slurm_gpu_ids"]
    return {f"task{offer.task}_{name}": str(value) for name, value in given.items()}


def _dismiss(channel: Channel) -> None:
    with suppress(Lost, OSError):  # gone already
        channel.send(Leave())
    channel.close()
