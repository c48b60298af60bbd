"""The node's sensors, read in a process of their own so that no rank and no agent pays for them.

`python -m bench.measure.sensors FILE` appends fixed-width rows five times a second: one for the host, one per GPU.
A line `1234 1235` on its standard input names the processes whose resident memory is summed from then on. It
ends when that input ends, or with the process that started it.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from bench import lost_image, safe_path
from bench.files import append_whole
from bench.process import die_with_parent, name_process

INTERVAL_S = 0.2
HOST = -1
"""`device` of the host's own row."""
ROW = np.dtype(
    [
        ("time_ns", "<i8"),
        ("device", "<i8"),
        ("gpu_util_pct", "<f8"),
        ("memory_used_bytes", "<f8"),
        ("power_w", "<f8"),
        ("energy_j", "<f8"),
        ("temperature_c", "<f8"),
        ("sm_clock_mhz", "<f8"),
        ("throttle_reasons", "<f8"),
        ("cpu_util_pct", "<f8"),
        ("rss_bytes", "<f8"),
    ]
)
"""NaN where a sensor does not exist. An NVML mask of throttle reasons has fewer than 53 bits: exact in float64."""


@dataclass(kw_only=True)
class Sensors:
    """The agent's handle on the sensor process."""

    process: subprocess.Popen[bytes]
    path: Path

    @classmethod
    def start(cls, path: Path) -> Sensors:
        """Begin sampling into `path`."""
        command = safe_path.command("bench.measure.sensors", str(path))
        process = subprocess.Popen(command, env=safe_path.environment(), stdin=subprocess.PIPE)
        return cls(process=process, path=path)

    def watch(self, pids: list[int]) -> None:
        """Sum the resident memory of these processes from now on."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write((" ".join(map(str, pids)) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # sensors that died leave fewer samples, never a failed run

    def rows_between(self, first_ns: int, last_ns: int) -> np.ndarray[Any, np.dtype[Any]]:
        """Samples taken within a span of perf_counter_ns."""
        if not self.path.exists():
            return np.empty(0, ROW)
        size = self.path.stat().st_size // ROW.itemsize
        rows = np.fromfile(self.path, ROW, count=size)
        return rows[(rows["time_ns"] >= first_ns) & (rows["time_ns"] <= last_ns)]

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main(path: str) -> None:
    """The sensor process."""
    name_process("sensors")
    lost_image.hide_errors_of_a_lost_image()
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the agent's to handle
    from bench.measure.sensors_host import HostSensor
    from bench.measure.sensors_nvml import gpu_sensors

    host, gpus = HostSensor(), gpu_sensors()
    with Path(path).open("ab", buffering=0) as out:
        while _told_to_go_on(host):
            _sample(out, host, gpus)


def _sample(out: FileIO, host: Any, gpus: list[Any]) -> None:
    rows = np.zeros(1 + len(gpus), ROW)
    for name in ROW.names or ():
        if ROW[name].kind == "f":
            rows[name] = np.nan
    for row, sensor in zip(rows, [host, *gpus], strict=True):
        row["time_ns"] = perf_counter_ns()
        row["device"] = sensor.device
        for name, value in sensor.read().items():
            row[name] = value
    with suppress(OSError):  # a full disk leaves fewer samples, never a failed run
        append_whole(out, rows.tobytes())


def _told_to_go_on(host: Any) -> bool:
    """Wait one interval, or until there is a word from the agent. False when the agent has closed the pipe."""
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        if not selector.select(INTERVAL_S):
            return True
    word = os.read(0, 65536)
    if not word:
        return False
    host.watch([int(pid) for pid in word.decode().splitlines()[-1].split()])
    return True


if __name__ == "__main__":
    main(sys.argv[1])
