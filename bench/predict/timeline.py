"""Simulates a rank's step event by event: from pieces of work that wait for each other to the time at which each begins
and ends.

Computation is a queue, and so are the messages of a group: their works run one after the other, in the order given. A
work begins once the one before it in its queue has ended, and all works that it waits for.

Works that run at the same time share the rank's CPU cores: each gets as much as it can use, or an equal share of what
the others leave. A work that gets half of the cores that it can use takes twice as long.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Computation:
    """Work of a rank's own."""

    name: str
    """Unique in a step."""
    seconds: float
    """While nothing else runs."""
    cores: float = 0.0
    """CPU cores that it keeps busy; 0 on a GPU."""
    after: tuple[str, ...]
    """Names of the works that must have ended before, in any queue."""

    @property
    def queue(self) -> str:
        return "computation"


@dataclass(frozen=True)
class Group:
    """The ranks that exchange a message."""

    name: str
    ranks: int
    nodes: int
    """Nodes that the ranks are on."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """A collective operation, or a message to or from another rank."""

    name: str
    """Unique in a step."""
    op: str
    message_bytes: float
    """As nccl-tests counts them."""
    group: Group
    """Messages of a group are sent in order."""
    after: tuple[str, ...] = ()

    @property
    def queue(self) -> str:
        return f"messages of {self.group.name}"


Work = Computation | Message


@dataclass(frozen=True, kw_only=True)
class Sending:
    """Time of a message while nothing else runs."""

    seconds: float
    cores: float = 0.0
    """CPU cores that it keeps busy, on average; 0 if the network does all the work."""


@dataclass(frozen=True)
class Span:
    """Seconds since the step's begin."""

    start_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """When each work of a step runs."""

    spans: Mapping[str, Span]
    """By the work's name."""

    @property
    def step_s(self) -> float:
        return max((span.end_s for span in self.spans.values()), default=0.0)


def simulate(
    works: Sequence[Work], sending: Callable[[Message], Sending], cores: float = math.inf
) -> Timeline:
    """`cores`: CPU cores of the rank. Raises ValueError if works wait for each other in a circle, or for one that does
    not exist."""
    by_name = {work.name: work for work in works}
    if len(by_name) < len(works):
        raise ValueError("two works have the same name")
    needs = {work.name: sending(work) if isinstance(work, Message) else work for work in works}
    queues: dict[str, deque[str]] = defaultdict(deque)
    for work in works:
        queues[work.queue].append(work.name)
    left_s: dict[str, float] = {}
    """Seconds that each running work would still take at full speed."""
    started: dict[str, float] = {}
    spans: dict[str, Span] = {}
    now = 0.0
    while len(spans) < len(works):
        for name in {queue[0] for queue in queues.values() if queue} - left_s.keys():
            if spans.keys() >= set(by_name[name].after):
                started[name], left_s[name] = now, needs[name].seconds
        if not left_s:
            stuck = next(work for work in works if work.name not in spans)
            raise ValueError(f"{stuck.name} cannot begin: it waits for {', '.join(stuck.after)}")
        speeds = _speeds({name: needs[name].cores for name in left_s}, cores)
        lasting = {name: seconds / speeds[name] for name, seconds in left_s.items()}
        passed = min(lasting.values())
        now += passed
        for name, lasts in lasting.items():
            left_s[name] -= passed * speeds[name]
            if lasts == passed:
                del left_s[name]
                spans[name] = Span(started[name], now)
                queues[by_name[name].queue].popleft()
    return Timeline(spans=spans)


def _speeds(wanted: Mapping[str, float], cores: float) -> dict[str, float]:
    """Share of its full speed at which each running work proceeds. `wanted`: the cores that each can use."""
    found: dict[str, float] = {}
    free = cores
    for index, name in enumerate(sorted(wanted, key=lambda one: (wanted[one], one))):
        given = min(wanted[name], free / (len(wanted) - index))
        found[name] = given / wanted[name] if wanted[name] else 1.0
        free -= given
    return found
