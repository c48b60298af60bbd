"""Processes that the ranks of a failed run leave, also those that have made a session of their own.

The fork server and the agent adopt orphans: all that a rank has started is below the server or, once that has ended,
below the agent. After a normal end nothing is ended here, as a script may leave a service that others use.
"""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from bench.common.process import holds_memory, processes
from bench.common.system_files import text_of

LIMIT_S = 10.0
"""Time for all of them to end."""
_TERM_S = 1.0
"""Time for them to end by themselves, after SIGTERM."""
_TICK_S = 0.02


class _Process(NamedTuple):
    pid: int
    start: str
    """When it started, in ticks since boot: process ids are used again."""


class Leftovers:
    """The processes below the fork server and the agent that start from now on, except what older ones start."""

    def __init__(self, server_pid: int) -> None:
        self._before = {_Process(pid, fields[19]) for pid, fields in processes()}
        roots = {process for process in self._before if process.pid in (server_pid, os.getpid())}
        # without its server the run starts a new one below the agent, and ranks that end at once
        self._roots = roots if len(roots) == 2 else set()

    def end(self, limit_s: float = LIMIT_S) -> dict[int, str]:
        """End all of them, with SIGTERM and then SIGKILL. Returns id and name of those that are left at the limit."""
        began_s = time.monotonic()
        asked: set[_Process] = set()
        looks_in_vain = 0
        while looks_in_vain < 2:  # one look misses a process whose parent ends meanwhile
            left = list(self._running())
            if not left:
                looks_in_vain += 1
                continue
            looks_in_vain = 0
            waited_s = time.monotonic() - began_s
            if waited_s > limit_s:
                return {process.pid: text_of(f"/proc/{process.pid}/comm") for process in left}
            number = signal.SIGTERM if waited_s < _TERM_S else signal.SIGKILL
            for process in left:
                if number == signal.SIGKILL or process not in asked:
                    # one that has become another user's refuses the signal, and is told as left
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(process.pid, number)
            asked.update(left)
            time.sleep(_TICK_S)
        return {}

    def _running(self) -> Iterator[_Process]:
        """Those that have not ended. Waits for ended children of the agent; the server does so for its own."""
        children = defaultdict(list)
        todo = []
        for pid, fields in processes():
            process = _Process(pid, fields[19])
            children[int(fields[1])].append((process, fields))
            if process in self._roots:
                todo.append(pid)
        while todo:
            parent = todo.pop()
            for process, fields in children[parent]:
                if process in self._before:
                    continue
                todo.append(process.pid)
                if holds_memory(fields):
                    yield process
                elif parent == os.getpid():
                    with suppress(ChildProcessError):
                        os.waitpid(process.pid, os.WNOHANG)
