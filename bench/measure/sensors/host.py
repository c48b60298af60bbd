"""The host's sensors, by psutil: CPU utilisation, memory in use, and memory of the ranks."""

from __future__ import annotations

import time

import psutil

from bench.measure.sensors.sample import HOST

_SHORTEST_S = 0.1
"""The kernel counts CPU time in hundredths of a second; over less than ten of them a percentage is imprecise."""


class HostSensor:
    """Sensor of the host, `device` HOST."""

    device = HOST

    def __init__(self) -> None:
        self._ranks: list[psutil.Process] = []
        psutil.cpu_percent()  # the first call only starts the interval
        self._marked_s = time.monotonic()

    def watch(self, pids: list[int]) -> None:
        """Set the processes whose resident memory is summed; processes that have ended are ignored."""
        self._ranks = []
        for pid in pids:
            try:
                self._ranks.append(psutil.Process(pid))
            except psutil.NoSuchProcess:
                continue

    def read(self) -> dict[str, float]:
        """Percent of all CPUs since the last reading; bytes in use; resident bytes of the ranks, if any."""
        values = {"memory_used_bytes": float(psutil.virtual_memory().used)}
        now_s = time.monotonic()
        if now_s - self._marked_s >= _SHORTEST_S:
            values["cpu_util_pct"] = psutil.cpu_percent()
            self._marked_s = now_s
        resident = [size for rank in self._ranks if (size := _resident(rank)) is not None]
        if resident:
            values["rss_bytes"] = float(sum(resident))
        return values


def _resident(process: psutil.Process) -> int | None:
    try:
        return int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
