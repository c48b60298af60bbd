"""The CPU time that other processes take from the ranks."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import psutil

SHORTEST_S = 0.1
"""The kernel counts CPU time in hundredths of a second; over less than ten of them a percentage is imprecise."""


class OtherProcesses:
    """The share of the ranks' CPUs that processes other than the ranks use, from reading to reading.

    The ranks' CPUs are those that they may run on, or those of this process if there are no ranks. This process, the
    one that started it, and the children of the ranks, such as loader workers, count as the ranks' own."""

    def __init__(self) -> None:
        self.watch([])

    def watch(self, pids: list[int]) -> None:
        """Set the ranks, and begin the first interval."""
        self._ranks = pids
        self._cpus: set[int] = set()
        for pid in pids or [os.getpid()]:
            with suppress(OSError):  # it has ended
                self._cpus |= os.sched_getaffinity(pid)
        self._read_s = time.monotonic()
        self._busy_s = _busy_s(self._cpus)
        self._own_s = self._own_times()

    def read(self) -> float | None:
        """Percent of the ranks' CPUs since the last reading; null if that was too short ago."""
        elapsed_s = time.monotonic() - self._read_s
        if elapsed_s < SHORTEST_S or not self._cpus:
            return None
        busy_s, own_s = _busy_s(self._cpus), self._own_times()
        # a process that is new here may have taken its time before the last reading
        own = sum(own_s[pid] - self._own_s.get(pid, own_s[pid]) for pid in own_s)
        others_s = busy_s - self._busy_s - own
        self._read_s, self._busy_s, self._own_s = time.monotonic(), busy_s, own_s
        return min(100.0, max(0.0, 100 * others_s / (elapsed_s * len(self._cpus))))

    def read_after(self, seconds: float) -> float:
        """Percent since the last reading, as soon as that many seconds have passed since then."""
        time.sleep(max(0.0, max(seconds, SHORTEST_S) - (time.monotonic() - self._read_s)))
        return self.read() or 0.0

    def _own_times(self) -> dict[int, float]:
        """CPU seconds of each own process."""
        own: dict[int, float] = {}
        for pid in {
            os.getpid(),
            os.getppid(),
            *self._ranks,
            *(child for rank in self._ranks for child in _children(rank)),
        }:
            with suppress(psutil.Error):
                times = psutil.Process(pid).cpu_times()
                own[pid] = times.user + times.system
        return own


def _busy_s(cpus: set[int]) -> float:
    """CPU seconds that these CPUs were not idle, since the machine started."""
    times = psutil.cpu_times(percpu=True)
    return float(
        sum(
            one.user + one.nice + one.system + one.irq + one.softirq + one.steal
            for number, one in enumerate(times)
            if number in cpus
        )
    )


def _children(pid: int) -> list[int]:
    """Children that the process's first thread started; none if the kernel does not list them."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (OSError, ValueError):
        return []
