"""The host's sensors by psutil: how busy its CPUs are, how much memory is in use, and by our ranks."""

from __future__ import annotations

import psutil

from bench.measure.sensors import HOST


class HostSensor:
    """`device` HOST."""

    device = HOST

    def __init__(self) -> None:
        self._ranks: list[psutil.Process] = []
        psutil.cpu_percent()  # the first call only sets the mark that later ones count from

    def watch(self, pids: list[int]) -> None:
        """Processes whose resident memory is summed; ones that are gone already count nothing."""
        self._ranks = []
        for pid in pids:
            try:
                self._ranks.append(psutil.Process(pid))
            except psutil.NoSuchProcess:
                continue

    def read(self) -> dict[str, float]:
        """Percent of all CPUs since the last reading; bytes in use; bytes resident in the ranks, if any."""
        values = {
            "cpu_util_pct": psutil.cpu_percent(),
            "memory_used_bytes": float(psutil.virtual_memory().used),
        }
        resident = [size for rank in self._ranks if (size := _resident(rank)) is not None]
        if resident:
            values["rss_bytes"] = float(sum(resident))
        return values


def _resident(process: psutil.Process) -> int | None:
    try:
        return int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
