"""The node's sensors, read by a separate process so that they take no time from ranks and agents.

`python -m bench.measure.sensors.process FILE` appends fixed-width rows five times a second, one for the host and one
per GPU. A line `1234 1235` on stdin sets the processes that are the ranks. The process ends when stdin ends, or with
the process that started it.
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

from bench.common import safe_path, unreadable_image
from bench.common.files import append_whole
from bench.common.process import die_with_parent, name_process
from bench.machine import gpu_vendor
from bench.measure.sensors.sample import ROW

INTERVAL_S = 0.2


@dataclass(kw_only=True)
class Sensors:
    """The agent's handle on the sensor process."""

    process: subprocess.Popen[bytes]
    path: Path

    @classmethod
    def start(cls, path: Path) -> Sensors:
        """Start sampling to `path`."""
        command = safe_path.command("bench.measure.sensors.process", str(path))
        # new session: Ctrl-C must not end it with a traceback before it ignores signals
        process = subprocess.Popen(
            command, env=safe_path.environment(), stdin=subprocess.PIPE, start_new_session=True
        )
        return cls(process=process, path=path)

    def watch(self, pids: list[int]) -> None:
        """Take these processes for the ranks from now on."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write((" ".join(map(str, pids)) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # if the sensors died there are fewer samples, but the run goes on

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
    unreadable_image.hide_errors_of_a_lost_image()
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the agent handles it
    from bench.measure.sensors.host import HostSensor
    from bench.measure.sensors.nvml import gpu_sensors

    host, gpus = HostSensor(), [] if gpu_vendor.is_amd() else gpu_sensors()
    with Path(path).open("ab", buffering=0) as out:
        while _wait_for_next_sample(host):
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
    with suppress(OSError):  # if the disk is full there are fewer samples, but the run goes on
        append_whole(out, rows.tobytes())


def _wait_for_next_sample(host: Any) -> bool:
    """Wait one interval, or until the agent sends a line. False once the agent has closed the pipe."""
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        if not selector.select(INTERVAL_S):
            return True
    received = os.read(0, 65536)
    if not received:
        return False
    host.watch([int(pid) for pid in received.decode().splitlines()[-1].split()])
    return True


if __name__ == "__main__":
    main(sys.argv[1])
