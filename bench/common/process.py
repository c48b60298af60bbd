"""Processes: name them, end them with their parent, and look at their state."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.common.system_files import text_of

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ENDED = ("Z", "X")
"""State letters of processes that have ended, in proc(5)."""
_TICK_S = 0.02
"""Interval between looks at a group that is ending."""


def name_process(name: str) -> None:
    """Show this process as `bench: NAME` in ps, nvidia-smi and `top -c`."""
    from setproctitle import setproctitle  # the Python of a script, which imports this file, may not have it

    os.environ.setdefault("SPT_NOENV", "1")  # else the name overwrites /proc/PID/environ
    setproctitle(f"bench: {name}")


def is_bench(pid: int) -> bool:
    """Whether a process of this machine is a `bench`."""
    words = text_of(f"/proc/{pid}/cmdline").split("\0")[:4]
    return words[0].startswith("bench: ") or any(Path(word).name == "bench" for word in words)


def fork_children() -> None:
    """Let multiprocessing fork by default, as in a script. A child of the fork server would start a fork server of its
    own, whose children cannot import a user's file: a DataLoader with workers would fail."""
    import multiprocessing

    multiprocessing.set_start_method("fork", force=True)


def die_with_parent(expected_parent: int | None = None) -> None:
    """SIGKILL this process when its parent ends. Exits at once if `expected_parent` is already gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if expected_parent is not None and os.getppid() != expected_parent:
        os._exit(1)


def adopt_orphans() -> None:
    """From now on a process below this one whose parent ends becomes a child of this process, not of init: it stays
    below, also with a session of its own. Children do not inherit this. A system may refuse it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def close_at_exec() -> None:
    """Programs that this process starts inherit its three standard files only. multiprocessing's own pipes would keep
    its helpers alive, and the files of its caller open, as long as one of those programs lives."""
    for file in Path("/proc/self/fd").iterdir():
        if int(file.name) > 2:
            with contextlib.suppress(OSError):  # that of the folder itself
                os.set_inheritable(int(file.name), False)


def kill_group(pid: int) -> None:
    """SIGKILL the process group that `pid` leads: a rank and its loader workers. It may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def kill_session(leader: int) -> None:
    """SIGKILL every process of the session that `leader` leads, in all its groups; one that has made a
    session of its own lives on."""
    killed: set[int] = set()
    while members := {pid for pid, fields in processes() if int(fields[3]) == leader} - killed:
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= members  # one of them may have started another meanwhile


def join_groups(pids: Iterable[int], limit_s: float) -> bool:
    """Wait until every process of the groups that `pids` led has given back its memory, or until `limit_s` is over.
    Whether all have. A killed process holds its memory, that of a GPU included, until the kernel has taken it apart."""
    groups = frozenset(pids)
    deadline_s = time.monotonic() + limit_s
    while any(group in groups for group in _groups_that_hold_memory()):
        if time.monotonic() > deadline_s:
            return False
        time.sleep(_TICK_S)
    return True


def _groups_that_hold_memory() -> Iterator[int]:
    """The group of each process that is no zombie; a zombie with threads still has its memory."""
    for _, fields in processes():
        if holds_memory(fields):
            yield int(fields[2])


def holds_memory(fields: list[str]) -> bool:
    """Whether a process with these fields of `processes` still runs or is being taken apart."""
    state, threads = fields[0], fields[17]
    return state not in _ENDED or int(threads) > 1


def processes() -> Iterator[tuple[int, list[str]]]:
    """Each process, also one that has ended but not been waited for, and its fields of `_stat`."""
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and (fields := _stat(int(process.name))):
            yield int(process.name), fields


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    return _state(pid) not in ("", *_ENDED)


def is_stopped(pid: int) -> bool:
    """Whether the process was stopped by a signal (SIGSTOP, a debugger)."""
    return _state(pid) in ("T", "t")


def _state(pid: int) -> str:
    """The state letter of proc(5); empty if there is no such process."""
    return (_stat(pid) or [""])[0]


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty if there is no such process."""
    return text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
