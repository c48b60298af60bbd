"""Each entry point of NVML fails in each way: nothing raises, the other GPU and the other readings stay."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.gpu.conftest import Gpus

SENSORS = {
    "memory_used": "memory_used_bytes", "busy": "gpu_util_pct", "power": "power_w", "energy": "energy_j",
    "temperature": "temperature_c", "clock": "sm_clock_mhz", "clock_reasons": "throttle_reasons",
}  # fmt: skip
FACTS = {"name": "name", "memory_used": "memory_bytes", "power_limit": "power_limit_w"}
"""Readings of the stand-in, and bench's names for them."""
TOLD_BY_THE_DOCTOR = ("handle", "name", "memory_used")


def test_every_error_of_every_entry_point_hides_only_its_own_reading(gpus: Gpus) -> None:
    program = [sys.executable, "-m", "tests.gpu.read_nvml"]
    done = subprocess.run(program, env=gpus.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    whole, *failed = map(json.loads, done.stdout.splitlines())
    assert whole["slots"] == len(whole["sensors"]) == 2
    assert whole["sensors"]["0"].keys() == whole["sensors"]["1"].keys() == {*SENSORS.values()}
    assert len(failed) == 16 * 13
    for found in failed:
        entry, _, reading = found["entry"].rpartition(".")
        if not entry:
            check_host(reading, found, whole)
        else:
            check_gpu(reading, found, whole)


def check_host(entry: str, found: dict, whole: dict) -> None:
    if entry in ("init", "count"):  # as without a GPU
        assert (found["slots"], found["sensors"], found["doctor"]["gpus"]) == (0, {}, [])
    else:
        assert (found["slots"], found["sensors"]) == (2, whole["sensors"])
        assert found["facts"] == {key: value for key, value in whole["facts"].items() if key != entry}
    assert (found["doctor"]["error"] is None) is (entry == "driver")


def check_gpu(entry: str, found: dict, whole: dict) -> None:
    assert found["slots"] == 2
    assert found["sensors"]["0"] == whole["sensors"]["0"]
    lost = {"gpu1_name", "gpu1_memory_bytes", "gpu1_power_limit_w"} if entry == "handle" else set()
    lost |= {f"gpu1_{FACTS[entry]}"} if entry in FACTS else set()
    assert found["facts"] == {key: value for key, value in whole["facts"].items() if key not in lost}
    assert found["doctor"]["gpus"][0] == whole["doctor"]["gpus"][0]
    assert (found["doctor"]["gpus"][1][1] is not None) is (entry in TOLD_BY_THE_DOCTOR)
    if entry == "handle":
        assert "1" not in found["sensors"]
    else:
        left = {name: value for name, value in whole["sensors"]["1"].items() if name != SENSORS.get(entry)}
        assert found["sensors"]["1"] == left
