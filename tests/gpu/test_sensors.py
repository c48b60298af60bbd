"""Readings of NVML that fail, once or for good."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.gpu.conftest import TIMEOUT_S, Gpus

NOT_SUPPORTED, NO_PERMISSION, TIMEOUT, FUNCTION_NOT_FOUND, LOST, UNKNOWN = 3, 4, 10, 13, 15, 999
THREE_TIMES = """
import json, sys
from bench.measure.sensors.nvml import gpu_sensors

sensors = gpu_sensors()
for _ in range(3):
    print(json.dumps([sensor.read() for sensor in sensors]), flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize(
    ("error", "comes_back"),
    [
        (TIMEOUT, True),
        (LOST, True),
        (UNKNOWN, True),
        (NOT_SUPPORTED, False),
        (NO_PERMISSION, False),
        (FUNCTION_NOT_FOUND, False),
    ],
)
def test_a_reading_that_fails_once_is_tried_again(gpus: Gpus, error: int, comes_back: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", THREE_TIMES], env=gpus.environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdin is not None
        read = [json.loads(process.stdout.readline())]
        for change in ({"gpu1.power": f"!{error}"}, {"gpu1.power": 250_000}):
            gpus.readings = change
            gpus.environment()  # writes the readings
            process.stdin.write("\n")
            process.stdin.flush()
            read.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(TIMEOUT_S) == 0
    before, during, after = read
    assert [gpu["power_w"] for gpu in before] == [300.5, 300.5]
    assert during == [before[0], {name: value for name, value in before[1].items() if name != "power_w"}]
    assert [gpu.get("power_w") for gpu in after] == [300.5, 250.0 if comes_back else None]
    assert {**after[1], "power_w": 300.5} == before[1]
