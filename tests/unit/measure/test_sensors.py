"""Sensors are read by a process of their own, which ends when it is told to."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq

from bench.measure import finalise
from bench.measure.sensors import HOST, ROW, Sensors


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


def test_what_a_sensor_does_not_have_is_null(tmp_path: Path) -> None:
    rows = np.zeros(2, ROW)
    for name in ROW.names or ():
        if ROW[name].kind == "f":
            rows[name] = np.nan
    rows["device"] = [HOST, 0]
    rows["time_ns"] = [1_000, 1_200]
    rows["power_w"][1] = 301.5
    rows["throttle_reasons"][1] = 4
    finalise.write_samples(tmp_path, finalise.identity_of("s", "r", 0, 1), rows, barrier_ns=900)
    table = pq.read_table(tmp_path / "samples.node1.parquet").to_pydict()
    assert table["time_ns"] == [100, 300]
    assert table["device"] == [None, 0]
    assert table["node"] == [1, 1]
    assert table["power_w"] == [None, 301.5]
    assert table["throttle_reasons"] == [None, 4]
    assert table["rss_bytes"] == [None, None]
