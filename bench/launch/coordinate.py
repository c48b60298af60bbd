"""What agents say to each other. One implementation: a single node, where there is nobody to talk to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Why a run has to end on every node."""

    status: str
    """`failed`, `oom`, `timeout` or `interrupted`."""
    error: str
    rank: int | None
    """Where it began; null where no rank is to blame."""
    node: int | None


class Coordinator(Protocol):
    """Plain data between the agents of a session; agent 0 leads."""

    index: int
    """This agent's number, which is its node's number in the session."""

    def agree(self, word: str | None) -> str:
        """The leader's word on what comes next, the same for every agent; followers pass None."""

    def announce(self, fault: Fault) -> None:
        """Tell every agent to end its ranks of the current run at once."""

    def announced(self) -> Fault | None:
        """The first fault announced for the current run, by whomever. Never waits."""

    def rendezvous(self, run_key: str) -> str:
        """torch.distributed's init_method for a run's ranks."""


class Alone:
    """One node."""

    index = 0

    def __init__(self, scratch: str) -> None:
        """`scratch`: a folder on this node for the ranks' rendezvous files."""
        self._scratch = scratch

    def agree(self, word: str | None) -> str:
        assert word is not None, "the only agent leads"
        return word

    def announce(self, fault: Fault) -> None:
        """Nobody to tell."""

    def announced(self) -> Fault | None:
        return None

    def rendezvous(self, run_key: str) -> str:
        # a file, so that nothing listens on a network
        return f"file://{self._scratch}/rendezvous-{run_key}"
