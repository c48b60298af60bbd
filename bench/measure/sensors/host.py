"""The host's sensors, by psutil: CPU utilisation, memory in use, memory of the ranks, and other processes."""

from __future__ import annotations

import os
import time

import psutil

from bench.measure.sensors.other_processes import SHORTEST_S, OtherProcesses
from bench.measure.sensors.sample import HOST


class HostSensor:
    """Sensor of the host, `device` HOST."""

    device = HOST

    def __init__(self) -> None:
        self._ranks: list[psutil.Process] = []
        self._others = OtherProcesses([os.getpid(), os.getppid()])
        psutil.cpu_percent()  # the first call only starts the interval
        self._marked_s = time.monotonic()

    def watch(self, pids: list[int]) -> None:
        """Set the ranks; processes that have ended are ignored."""
        self._others.watch(pids)
        self._ranks = []
        for pid in pids:
            try:
                self._ranks.append(psutil.Process(pid))
            except psutil.NoSuchProcess:
                continue

    def read(self) -> dict[str, float]:
        """Percent of all CPUs since the last reading; bytes in use; of the ranks, if there are any: resident bytes, and
        percent of their CPUs that other processes use."""
        values = {"memory_used_bytes": float(psutil.virtual_memory().used)}
        now_s = time.monotonic()
        if now_s - self._marked_s >= SHORTEST_S:
            values["cpu_util_pct"] = psutil.cpu_percent()
            self._marked_s = now_s
        if self._ranks and (others := self._others.read()) is not None:
            values["other_cpu_pct"] = others
        resident = [size for rank in self._ranks if (size := _resident(rank)) is not None]
        if resident:
            values["rss_bytes"] = float(sum(resident))
        return values


def _resident(process: psutil.Process) -> int | None:
    try:
        return int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
