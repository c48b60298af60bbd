"""Sensors of AMD's GPUs: what amdsmi reads, in bench's units."""

from __future__ import annotations

from types import ModuleType

import pytest

from bench.measure.sensors import amd
from tests.unit.amd.conftest import mi250x


def test_readings_have_the_units_of_the_samples(amdsmi: ModuleType) -> None:
    first, second = amd.gpu_sensors()
    assert (first.device, second.device) == (0, 1)
    assert first.read() == {
        "gpu_util_pct": 97.0,
        "memory_used_bytes": 120.0 * 2**20,
        "power_w": 431.0,
        "energy_j": pytest.approx(30.6),
        "temperature_c": 61.0,
        "sm_clock_mhz": 1700.0,
    }


def test_a_device_is_that_of_its_number_in_hip(amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amdsmi, "gpus", [mi250x(1, busy=11), mi250x(0, busy=22)])
    assert [sensor.read()["gpu_util_pct"] for sensor in amd.gpu_sensors()] == [22, 11]
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "1")
    (only,) = amd.gpu_sensors()
    assert (only.device, only.read()["gpu_util_pct"]) == (0, 11)


def test_what_a_device_lacks_is_left_out_and_not_read_again(
    amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = amdsmi.AmdSmiLibraryException(2)
    gpu = mi250x(0, busy=lacking, current_w="N/A", average_w=0, energy_count=0, clock_mhz="N/A")
    monkeypatch.setattr(amdsmi, "gpus", [gpu])
    (sensor,) = amd.gpu_sensors()
    assert sensor.read() == {"memory_used_bytes": 120.0 * 2**20, "temperature_c": 61.0}
    gpu["busy"], gpu["average_w"] = 50, 300
    assert sensor.read() == {"memory_used_bytes": 120.0 * 2**20, "power_w": 300.0, "temperature_c": 61.0}


def test_a_reading_that_fails_once_is_read_again(amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = mi250x(0, temperature_c=amdsmi.AmdSmiLibraryException(30))
    monkeypatch.setattr(amdsmi, "gpus", [gpu])
    (sensor,) = amd.gpu_sensors()
    assert "temperature_c" not in sensor.read()
    gpu["temperature_c"] = 61_000  # thousandths, as the documentation has it
    assert sensor.read()["temperature_c"] == 61


def test_a_board_of_which_one_device_tells_the_current_power(
    amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amdsmi, "gpus", [mi250x(0, current_w=700, average_w="N/A")])
    (sensor,) = amd.gpu_sensors()
    assert sensor.read()["power_w"] == 700


def test_without_amdsmi_and_with_a_wrong_list_there_are_no_sensors(
    amdsmi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "9")
    assert amd.gpu_sensors() == []
    monkeypatch.delenv("HIP_VISIBLE_DEVICES")
    monkeypatch.setattr(amdsmi, "gpus", [])
    assert amd.gpu_sensors() == []
