"""Simulates a step event by event: from pieces of work that wait for each other to the time at which each begins and
ends.

The computation of a rank is a queue, and so are the messages of a group: their works run one after the other, in the
order given. A work begins once the one before it in its queue has ended, and all works that it waits for.

The works of a rank that run at the same time share its CPU cores: each gets as much as it can use, or an equal share of
what the others leave. A work that gets half of the cores that it can use takes twice as long.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Computation:
    """Work of a rank's own."""

    name: str
    """Unique in a step."""
    seconds: float
    """While nothing else runs on its rank."""
    rank: int = 0
    cores: float = 0.0
    """CPU cores that it keeps busy; 0 on a GPU."""
    after: tuple[str, ...]
    """Names of the works that must have ended before, in any queue."""

    @property
    def queue(self) -> str:
        return f"computation of rank {self.rank}"


@dataclass(frozen=True)
class Group:
    """The ranks that exchange a message."""

    name: str
    ranks: int
    nodes: int
    """Nodes that the ranks are on."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """A collective operation, or a message from one rank to another."""

    name: str
    """Unique in a step."""
    op: str
    message_bytes: float
    """As nccl-tests counts them."""
    group: Group
    """Messages of a group are sent in order."""
    rank: int = 0
    """The rank that sends it, with its cores."""
    after: tuple[str, ...] = ()

    @property
    def queue(self) -> str:
        return f"messages of {self.group.name} on rank {self.rank}"


Work = Computation | Message


@dataclass(frozen=True, kw_only=True)
class Sending:
    """Time of a message while nothing else runs on its rank."""

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

    works: tuple[Work, ...]
    spans: Mapping[str, Span]
    """By the work's name."""

    @property
    def step_s(self) -> float:
        return max((span.end_s for span in self.spans.values()), default=0.0)

    def computing_s(self, rank: int = 0) -> float:
        """Seconds in which the rank computes."""
        return _length(self._of(rank, Computation))

    def exposed_s(self, rank: int = 0) -> float:
        """Seconds in which a message of the rank is on its way, and the rank computes nothing."""
        return _length([*self._of(rank, Message), *self._of(rank, Computation)]) - self.computing_s(rank)

    def idle_s(self, rank: int = 0) -> float:
        """Seconds in which the rank neither computes nor sends: it waits for other ranks."""
        return self.step_s - self.computing_s(rank) - self.exposed_s(rank)

    def _of(self, rank: int, kind: type[Work]) -> list[Span]:
        return [self.spans[work.name] for work in self.works if work.rank == rank and isinstance(work, kind)]


def simulate(
    works: Sequence[Work], sending: Callable[[Message], Sending], cores: float = math.inf
) -> Timeline:
    """`cores`: CPU cores of each rank. Raises ValueError if works wait for each other in a circle, or for one that does
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
        speeds = _speeds([(by_name[name].rank, name, needs[name].cores) for name in left_s], cores)
        lasting = {name: seconds / speeds[name] for name, seconds in left_s.items()}
        passed = min(lasting.values())
        now += passed
        for name, lasts in lasting.items():
            left_s[name] -= passed * speeds[name]
            if lasts == passed:
                del left_s[name]
                spans[name] = Span(started[name], now)
                queues[by_name[name].queue].popleft()
    return Timeline(works=tuple(works), spans=spans)


def _speeds(running: Iterable[tuple[int, str, float]], cores: float) -> dict[str, float]:
    """Share of its full speed at which each running work proceeds. `running`: rank, name and cores of each."""
    found: dict[str, float] = {}
    by_rank: dict[int, list[tuple[float, str]]] = defaultdict(list)
    for rank, name, wanted in running:
        by_rank[rank].append((wanted, name))
    for works in by_rank.values():
        free = cores
        for index, (wanted, name) in enumerate(sorted(works)):
            given = min(wanted, free / (len(works) - index))
            found[name] = given / wanted if wanted else 1.0
            free -= given
    return found


def _length(spans: Iterable[Span]) -> float:
    """Seconds covered by at least one of the spans."""
    covered = reached = 0.0
    for span in sorted(spans, key=lambda one: one.start_s):
        covered += max(0.0, span.end_s - max(reached, span.start_s))
        reached = max(reached, span.end_s)
    return covered
