"""What a dead rank died of."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.records.messages import Fault
from bench.records.vocabulary import Status
from bench.train.job import UNSAID

_UNCHECKED = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)
"""How a process ends that writes to memory which it was refused."""


@dataclass(frozen=True, kw_only=True)
class Death:
    """A rank that ended before the run was over."""

    exit_code: int
    """As multiprocessing gives it: negative is a signal."""
    outcome: dict[str, Any]
    """What it said itself; empty where it could not."""
    limited: bool = False
    """Whether it had a memory limit that the kernel enforces."""


def kernel_oom_kills() -> int | None:
    """Processes that the kernel has ended for want of memory since boot; null where it does not say."""
    match = re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)
    return int(match.group(1)) if match else None


def first_to_die(failed: dict[int, Death], node: int, kernel_kills_before: int | None) -> Fault:
    """The culprit: its peers only lose their connection to it. Who said nothing was killed, and comes first."""
    rank = min(failed, key=lambda r: (bool(failed[r].outcome), _lost_a_peer(failed[r]), r))
    death = failed[rank]
    said = death.outcome.get("error")
    if said:
        status: Status = "oom" if death.outcome.get("oom") else "failed"
        lost = _lost_a_peer(death)
        return Fault(status=status, error=str(said), rank=rank, node=node, secondhand=lost)
    if death.exit_code == -signal.SIGKILL and _grew(kernel_kills_before):
        error = "ended by the kernel for want of host memory (SIGKILL)"
        return Fault(status="oom", error=error, rank=rank, node=node)
    if death.limited and -death.exit_code in _UNCHECKED:
        error = f"{_exit_text(death.exit_code)} at its memory limit: a library did not check whether it got memory"
        return Fault(status="oom", error=error, rank=rank, node=node)
    return Fault(status="failed", error=_exit_text(death.exit_code), rank=rank, node=node)


def _lost_a_peer(death: Death) -> bool:
    text = str(death.outcome.get("error", "")).lower()
    return any(
        word in text
        for word in (
            "connection reset",
            "connection closed",
            "closed by peer",
            "broken pipe",
            "ncclremoteerror",
        )
    )


def lost_the_image(failed: dict[int, Death]) -> bool:
    """Whether a rank could no longer read the container's image: a signal to the whole step ends what mounts it."""
    return any(
        death.exit_code == -signal.SIGBUS
        or "transport endpoint is not connected" in str(death.outcome.get("error", "")).lower()
        for death in failed.values()
    )


def _grew(before: int | None) -> bool:
    now = kernel_oom_kills()
    return before is not None and now is not None and now > before


def _exit_text(exit_code: int) -> str:
    if exit_code < 0:
        return f"killed by {signal.Signals(-exit_code).name}"
    if exit_code == UNSAID:
        return "the rank could not write down how it went: the disk of its temporary folder may be full; its log says"
    return f"the process ended with exit code {exit_code} before the run was over; its log may say why"
