"""What an agent is told while it hosts a run, and what it tells: the same for the leader, a follower and one alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from bench.records.messages import Fault, Standing


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
