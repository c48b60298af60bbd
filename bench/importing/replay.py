"""The step without stragglers: a step replayed with other durations of its operations.

An operation begins when all operations have ended that it follows. A transfer belongs to several ranks: it begins when
the last of them is ready, and then takes the time of the transfer itself. So a wait for another rank is no duration: it
follows from the other durations. All steps have the same operations, so one replay computes all of them.

The idea is published: Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI 2025
(https://arxiv.org/abs/2505.05713).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Nanoseconds = np.ndarray[Any, np.dtype[np.float64]]
"""[operations, steps]"""
SLOWEST_SHARE = 0.03
"""Share of the workers that the last figure replaces, at least one; as in the paper."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of a step; its index in the list is its name."""

    kind: str
    """Operations of one kind should take the same time."""
    worker: int
    """Index of the rank, or of the ranks that share its trace."""
    after: tuple[int, ...]
    """Operations that end before it begins."""
    meets: Hashable | None = None
    """Key of the transfer that it is a part of; null: it waits for no other worker."""


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """Each array has the time of each step, ns."""

    replayed_ns: Nanoseconds
    """With the measured durations. The difference from the measured step is work that the trace does not show."""
    even_ns: Nanoseconds
    """With the same duration for all operations of a kind: the step without stragglers."""
    without_slowest_ns: Nanoseconds
    """With the measured durations, but the slowest workers' replaced by those of `even_ns`."""
    slowest: tuple[int, ...]
    """The workers whose own durations delay the even step most, the worst first."""


class Replay:
    """The operations of a step, in an order in which they can be replayed."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        """Raises ValueError if operations wait for each other."""
        self._workers = np.array([each.worker for each in operations])
        members: dict[Hashable, list[int]] = {}
        for index, each in enumerate(operations):
            members.setdefault(("alone", index) if each.meets is None else ("meet", each.meets), []).append(
                index
            )
        self._order = _in_order(operations, list(members.values()))

    def times(self, durations: Nanoseconds) -> Nanoseconds:
        """[steps] The end of the last operation."""
        ends = np.zeros_like(durations)
        for members, after in self._order:
            begin = ends[after].max(axis=0) if len(after) else 0.0
            ends[members] = begin + durations[members]
        last: Nanoseconds = ends.max(axis=0)
        return last

    def what_if(self, measured: Nanoseconds, even: Nanoseconds) -> WhatIf:
        """`measured`, `even`: durations as they were, and if all workers were alike."""
        workers = np.unique(self._workers)
        delays = {
            int(worker): self.times(np.where((self._workers == worker)[:, None], measured, even)).mean()
            for worker in workers
        }
        count = math.ceil(SLOWEST_SHARE * len(workers))
        slowest = sorted(delays, key=lambda worker: -delays[worker])[:count]
        replaced = np.isin(self._workers, slowest)[:, None]
        return WhatIf(
            replayed_ns=self.times(measured),
            even_ns=self.times(even),
            without_slowest_ns=self.times(np.where(replaced, even, measured)),
            slowest=tuple(slowest),
        )


def _in_order(operations: Sequence[Operation], groups: list[list[int]]) -> list[tuple[list[int], list[int]]]:
    """Each group of operations that begin together, with the operations that it follows; earlier groups first."""
    group_of = {index: number for number, group in enumerate(groups) for index in group}
    follows = [sorted({before for index in group for before in operations[index].after}) for group in groups]
    left = [len({group_of[before] for before in after}) for after in follows]
    then: list[set[int]] = [set() for _ in groups]
    for number, after in enumerate(follows):
        for before in after:
            then[group_of[before]].add(number)
    ready = deque(number for number, count in enumerate(left) if count == 0)
    order = []
    while ready:
        number = ready.popleft()
        order.append((groups[number], follows[number]))
        for later in then[number]:
            left[later] -= 1
            if left[later] == 0:
                ready.append(later)
    if len(order) < len(groups):
        raise ValueError("operations wait for each other")
    return order


def even_durations(
    operations: Sequence[Operation], durations: Nanoseconds, transfers: Mapping[str, bool]
) -> Nanoseconds:
    """The duration of its kind for each operation: the mean, which keeps the work; for the kinds in `transfers` the
    median, since a slow transfer is no work that another worker would have to do."""
    kinds = np.array([each.kind for each in operations])
    even = np.empty_like(durations)
    for kind in np.unique(kinds):
        those = kinds == kind
        even[those] = np.median(durations[those]) if transfers[str(kind)] else durations[those].mean()
    return even
