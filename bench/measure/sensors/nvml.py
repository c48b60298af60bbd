"""A GPU's sensors, by NVML. Readings that a device or driver lacks are left out, never guessed."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import takewhile
from typing import Any

import pynvml

from bench.machine.slots import gpu_uuids

_NEVER = (
    pynvml.NVMLError_NotSupported,
    pynvml.NVMLError_FunctionNotFound,
    pynvml.NVMLError_NoPermission,
)


class GpuSensor:
    """One GPU. `device` is its index among the devices that CUDA sees."""

    def __init__(self, device: int, handle: Any) -> None:
        self.device = device
        self._readings: dict[str, Callable[[], float]] = {
            "gpu_util_pct": lambda: float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu),
            "memory_used_bytes": lambda: float(pynvml.nvmlDeviceGetMemoryInfo(handle).used),
            "power_w": lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
            "energy_j": lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3,
            "temperature_c": lambda: float(
                pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
            ),
            "sm_clock_mhz": lambda: float(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
            "throttle_reasons": lambda: float(pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle)),
        }

    def read(self) -> dict[str, float]:
        """Every reading of the device. One that the device lacks or does not permit is not read again; another failure
        may pass."""
        values: dict[str, float] = {}
        for name, reading in list(self._readings.items()):
            try:
                values[name] = reading()
            except _NEVER:
                del self._readings[name]
            except pynvml.NVMLError:
                continue
        return values


def gpu_sensors() -> list[GpuSensor]:
    """A sensor for each GPU that this process may use, in CUDA's order; empty without a driver.

    CUDA's list ends at the first invalid name, such as -1 or Slurm's NoDevFiles. NVML and CUDA use the same
    numbers, because ranks run with CUDA_DEVICE_ORDER=PCI_BUS_ID (bench/agent/fork_server.py)."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError:
        return []
    names = map(str, range(count)) if visible is None else visible.split(",")
    handles = takewhile(lambda handle: handle is not None, (_handle(name.strip()) for name in names))
    return [GpuSensor(device, handle) for device, handle in enumerate(handles)]


def _handle(name: str) -> Any:
    """The device's handle; null if the name is invalid, which `bench doctor` reports."""
    try:
        if name.isdecimal():
            return pynvml.nvmlDeviceGetHandleByIndex(int(name))
        return pynvml.nvmlDeviceGetHandleByUUID(_full_uuid(name))
    except pynvml.NVMLError:
        return None


def _full_uuid(name: str) -> str:
    """CUDA accepts an unambiguous prefix of a UUID, NVML only whole UUIDs."""
    uuids = gpu_uuids().values() if name.startswith("GPU-") else ()
    matching = [uuid for uuid in uuids if uuid.startswith(name)]
    return matching[0] if len(matching) == 1 else name
