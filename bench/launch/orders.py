"""What an agent is told while it hosts a run, and what it tells: the same for the leader, a follower and one alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from bench.records.vocabulary import Status


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Why a run has to end on every node."""

    status: Status
    """`failed`, `oom`, `timeout` or `interrupted`."""
    error: str
    rank: int | None
    """Where it began; null where no rank is to blame."""
    node: int | None
    secondhand: bool = False
    """A rank lost its connection to another: what befell that one is the cause, and will be heard of."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far the ranks of an agent have come."""

    node: int
    rows: dict[int, int] = field(default_factory=dict)
    """Completed steps of each living rank."""
    stopped: list[int] = field(default_factory=list)
    """Ranks that a signal has stopped."""
    busy: dict[int, str] = field(default_factory=dict)
    """Where each rank is that is not within torch, where ranks wait for each other."""

    def to_json(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "rows": sorted(self.rows.items()),
            "stopped": self.stopped,
            "busy": sorted(self.busy.items()),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Standing:
        return cls(**{**value, "rows": dict(value["rows"]), "busy": dict(value["busy"])})


class Orders(Protocol):
    """One run's, for one agent."""

    def waits(self) -> list[Any]:
        """What wakes the agent, besides its ranks and its own signals."""

    def started(self, pids: list[int]) -> None:
        """The agent's ranks are running."""

    def look(self, standing: Callable[[], Standing]) -> Fault | None:
        """Why the ranks here must end now, if they must. Waits only where something went wrong: for its cause, or for
        how far ranks are; `standing` takes half a second."""

    def report(self, fault: Fault) -> Fault:
        """Something went wrong here. Returns what went wrong first, as far as that is known."""
