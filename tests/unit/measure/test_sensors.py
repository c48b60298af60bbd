"""Sensors are read by a separate process, which ends on request."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

from bench.measure import write_parquet
from bench.measure.sensors.other_processes import OtherProcesses
from bench.measure.sensors.process import Sensors
from bench.measure.sensors.sample import HOST, ROW


def test_the_host_is_sampled_and_named_processes_are_summed(tmp_path: Path) -> None:
    began = time.perf_counter_ns()
    sensors = Sensors.start(tmp_path / "samples.raw")
    sensors.watch([os.getpid()])
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        rows = sensors.rows_between(began, time.perf_counter_ns())
        if np.count_nonzero(rows["device"] == HOST) >= 3 and not np.isnan(rows["rss_bytes"]).all():
            break
        time.sleep(0.05)
    sensors.stop()
    host = rows[rows["device"] == HOST]
    assert (np.diff(host["time_ns"]) > 0).all()
    assert 0 <= host["cpu_util_pct"][-1] <= 100
    resident = psutil.Process().memory_info().rss
    assert 0.5 * resident < host["rss_bytes"][-1] < 2 * resident
    assert sensors.process.returncode == 0


def test_a_rank_and_its_children_are_not_others() -> None:
    """Two processes compute: for one reader they are the rank and its child, for another they are others."""
    busy = "while True: pass"
    code = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', '{busy}']).pid, flush=True)\n{busy}"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as rank:
        assert rank.stdout is not None
        both = [psutil.Process(rank.pid), psutil.Process(int(rank.stdout.readline()))]
        try:
            knowing, unknowing = OtherProcesses([]), OtherProcesses([])
            knowing.watch([rank.pid])
            unknowing.watch([])
            before_s, began_s = [sum(process.cpu_times()[:2]) for process in both], time.monotonic()
            time.sleep(1.0)
            used_s = sum(sum(process.cpu_times()[:2]) for process in both) - sum(before_s)
            with_them, without = unknowing.read(), knowing.read()
            cpus_s = (time.monotonic() - began_s) * len(os.sched_getaffinity(0))
        finally:
            os.killpg(rank.pid, signal.SIGKILL)
    assert with_them is not None
    assert without is not None
    assert used_s > 0.1
    assert with_them - without == pytest.approx(100 * used_s / cpus_s, rel=0.3)


def test_what_a_sensor_does_not_have_is_null(tmp_path: Path) -> None:
    rows = np.zeros(2, ROW)
    for name in ROW.names or ():
        if ROW[name].kind == "f":
            rows[name] = np.nan
    rows["device"] = [HOST, 0]
    rows["time_ns"] = [1_000, 1_200]
    rows["power_w"][1] = 301.5
    rows["throttle_reasons"][1] = 4
    write_parquet.write_samples(tmp_path, write_parquet.identity_of("s", "r", 0, 1), rows, barrier_ns=900)
    table = pq.read_table(tmp_path / "samples.node1.parquet").to_pydict()
    assert table["time_ns"] == [100, 300]
    assert table["device"] == [None, 0]
    assert table["node"] == [1, 1]
    assert table["power_w"] == [None, 301.5]
    assert table["throttle_reasons"] == [None, 4]
    assert table["rss_bytes"] == [None, None]
