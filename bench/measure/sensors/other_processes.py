"""The CPU time that other processes take from the ranks."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bench.common.system_files import numbers_of, text_of

SHORTEST_S = 0.1
"""The kernel counts CPU time in hundredths of a second; over less than ten of them a percentage is imprecise."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class OtherProcesses:
    """The share of CPUs that other processes use, from reading to reading.

    `own` are processes that do not count as others. Their descendants, such as loader workers, do not either."""

    def __init__(self, own: Iterable[int]) -> None:
        self._own = frozenset(own)
        self.watch([])

    def watch(self, ranks: list[int]) -> None:
        """Set further own processes, whose CPUs are read [default: those of this process], and begin an interval."""
        self._roots = self._own | set(ranks)
        self._cpus: set[int] = set()
        for pid in ranks or [os.getpid()]:
            with suppress(OSError):  # it has ended
                self._cpus |= os.sched_getaffinity(pid)
        self._begin()

    def read(self) -> float | None:
        """Percent of the CPUs since the last reading; null if that was too short ago, or if an own process ended."""
        elapsed_s = time.monotonic() - self._read_s
        if elapsed_s < SHORTEST_S or not self._cpus:
            return None
        busy_s, own_s, alive = self._busy_s, self._own_s, self._alive
        self._begin()
        if self._alive != alive:
            return None
        others_s = self._busy_s - busy_s - (self._own_s - own_s)
        return min(100.0, max(0.0, 100 * others_s / (elapsed_s * len(self._cpus))))

    def read_after(self, seconds: float) -> float | None:
        """The same, once that many seconds have passed since the last reading."""
        time.sleep(max(0.0, max(seconds, SHORTEST_S) - (time.monotonic() - self._read_s)))
        return self.read()

    def _begin(self) -> None:
        self._read_s = time.monotonic()
        self._busy_s = _busy_s(self._cpus)
        # a descendant that ended is in its parent's time
        times = {pid: spent for pid in _with_descendants(self._roots) if (spent := _spent_s(pid)) is not None}
        self._own_s = sum(times.values())
        self._alive = self._roots & times.keys()


def _busy_s(cpus: set[int]) -> float:
    """CPU seconds that these CPUs were not idle, since the machine started."""
    ticks = 0
    for cpu, counts in re.findall(r"^cpu(\d+)((?: \d+){5,})", text_of("/proc/stat"), re.MULTILINE):
        if int(cpu) in cpus:
            user, nice, system, _idle, _iowait, *interrupts = map(int, counts.split()[:8])
            ticks += user + nice + system + sum(interrupts)
    return ticks / _TICKS_PER_S


def _spent_s(pid: int) -> float | None:
    """CPU seconds of a process and of its children that have ended; null if it has ended itself."""
    fields = text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS_PER_S if len(fields) > 14 else None


def _with_descendants(roots: Iterable[int]) -> set[int]:
    """Process ids of the roots and of their descendants; without those if the kernel does not list children."""
    found: set[int] = set()
    left = [*roots]
    while left:
        pid = left.pop()
        if pid not in found:
            found.add(pid)
            for listed in Path(f"/proc/{pid}/task").glob("*/children"):
                left += numbers_of(text_of(listed))
    return found
