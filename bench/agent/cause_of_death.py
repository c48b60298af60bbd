"""Why a run's ranks died: the first rank that failed, and its cause."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.command.ending import tail
from bench.common.error_text import printable
from bench.common.system_files import text_of
from bench.records.messages import Fault
from bench.records.vocabulary import Status
from bench.train.rank_job import NO_OUTCOME

_REFUSED_MEMORY_SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)
"""Signals that end a process whose library uses memory that the kernel refused it."""
_PEER_LOST = (
    "connection reset",
    "connection closed",
    "closed by peer",
    "broken pipe",
    "ncclremoteerror",
    "remote process exited or there was a network error",  # NCCL's text for it
)
"""Parts of errors, in lower case, that a rank raises because another rank died."""
_LOGGED = re.compile(r"(?:\[rank\d+\]:)?\[[EF]\d{4} [^\]]*\] ?(.+)")
"""An error in torch's log: time and place, then the message."""
_MOST_LOGGED = 4
"""Errors of torch's log that a row quotes: the cause comes a few lines before the last one."""
_LONGEST = 500
"""Characters of a log that a row quotes."""


@dataclass(frozen=True, kw_only=True)
class Death:
    """A rank that ended before the run was over."""

    exit_code: int
    """As multiprocessing reports it: a negative number is a signal."""
    outcome: dict[str, Any]
    """The outcome that the rank wrote itself; empty if it wrote none."""
    limited: bool = False
    """Whether the kernel enforced a memory limit on it."""
    log: Path | None = None
    """Its output; null if it is not known."""


def kernel_oom_kills() -> int | None:
    """Processes that the kernel has killed since boot because memory ran out; null if it does not count them."""
    match = re.search(r"^oom_kill (\d+)$", text_of("/proc/vmstat"), re.MULTILINE)
    return int(match.group(1)) if match else None


def first_to_die(failed: dict[int, Death], node: int, kernel_kills_before: int | None) -> Fault:
    """The fault of the rank that failed first, out of `failed` (by rank) on one node.

    A rank without an outcome of its own was killed and comes first; ranks that lost a peer are consequences and come
    last. `kernel_kills_before` is kernel_oom_kills() at the beginning of the run."""
    rank = min(failed, key=lambda r: (bool(failed[r].outcome), _lost_a_peer(failed[r]), r))
    death = failed[rank]
    own_error = death.outcome.get("error")
    if own_error:
        status: Status = "oom" if death.outcome.get("oom") else "failed"
        return Fault(
            status=status, error=str(own_error), rank=rank, node=node, secondhand=_lost_a_peer(death)
        )
    kills = kernel_oom_kills()
    kernel_killed = kernel_kills_before is not None and kills is not None and kills > kernel_kills_before
    if death.exit_code == -signal.SIGKILL and kernel_killed:
        error = "killed by the kernel: the host ran out of memory (SIGKILL)"
        return Fault(status="oom", error=error, rank=rank, node=node)
    if death.limited and -death.exit_code in _REFUSED_MEMORY_SIGNALS:
        error = (
            f"{_exit_text(death.exit_code)} at its memory limit: a library used memory that it was refused"
        )
        return Fault(status="oom", error=error, rank=rank, node=node)
    words = last_words(death.log) if death.exit_code == -signal.SIGABRT and death.log else None
    error = _exit_text(death.exit_code) + (f"; its log says: {words}" if words else "")
    return Fault(status="failed", error=error, rank=rank, node=node)


def last_words(log: Path) -> str | None:
    """The words in a log that say why its process called abort(); null if the log says nothing.

    These are the message of a C++ exception, else torch's last errors, else the last line, as a C library writes it.
    Python writes its stacks below them."""
    if not log.exists():  # it died before it opened its log
        return None
    before_stacks = tail(log).partition("Fatal Python error: Aborted")[0]
    lines = [line.strip() for line in before_stacks.splitlines() if line.strip()]
    raised = [line.removeprefix("what():").strip() for line in lines if line.startswith("what():")]
    logged = [found[1] for line in lines if (found := _LOGGED.match(line))]
    words = "; ".join(raised[-1:] or logged[-_MOST_LOGGED:] or lines[-1:])[:_LONGEST]
    return printable(words) or None


def _lost_a_peer(death: Death) -> bool:
    text = str(death.outcome.get("error", "")).lower()
    return any(part in text for part in _PEER_LOST)


def lost_the_image(failed: dict[int, Death]) -> bool:
    """Whether a rank could no longer read the container's image: a signal to the whole step also ends its mount."""
    return any(
        death.exit_code == -signal.SIGBUS
        or "transport endpoint is not connected" in str(death.outcome.get("error", "")).lower()
        for death in failed.values()
    )


def _exit_text(exit_code: int) -> str:
    if exit_code < 0:
        return f"killed by {signal.Signals(-exit_code).name}"
    if exit_code == NO_OUTCOME:
        return (
            "the rank could not write its outcome: the disk of its temporary folder may be full; see its log"
        )
    return f"the process ended with exit code {exit_code} before the run was over; its log may say why"
