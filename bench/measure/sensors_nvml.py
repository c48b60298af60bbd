"""A GPU's sensors by NVML. What a device or driver does not have is left out, never guessed."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import takewhile
from typing import Any

import pynvml


class GpuSensor:
    """One GPU. `device` is its place among the devices that CUDA sees."""

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
        """Every reading the device gives; a sensor that fails once is not asked again."""
        values: dict[str, float] = {}
        for name, reading in list(self._readings.items()):
            try:
                values[name] = reading()
            except pynvml.NVMLError:
                del self._readings[name]
        return values


def gpu_sensors() -> list[GpuSensor]:
    """A sensor for each GPU that this process may use; none without a driver."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    return [GpuSensor(device, handle) for device, handle in enumerate(_visible_handles())]


def _visible_handles() -> list[Any]:
    """In CUDA's order, which ends at the first name of no device, as -1 or Slurm's NoDevFiles. Numbers mean the same
    to both, since ranks run under CUDA_DEVICE_ORDER=PCI_BUS_ID (bench/launch/warm.py)."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = map(str, range(pynvml.nvmlDeviceGetCount())) if visible is None else visible.split(",")
    return list(takewhile(lambda handle: handle is not None, (_handle(name.strip()) for name in names)))


def _handle(name: str) -> Any:
    """Null for what names no device: `bench doctor` says so, sensors go on."""
    try:
        if name.isdecimal():
            return pynvml.nvmlDeviceGetHandleByIndex(int(name))
        return pynvml.nvmlDeviceGetHandleByUUID(_whole(name))
    except pynvml.NVMLError:
        return None


def _whole(name: str) -> str:
    """CUDA takes the beginning of a UUID where it is of one GPU alone, NVML only whole ones."""
    indices = range(pynvml.nvmlDeviceGetCount()) if name.startswith("GPU-") else ()
    uuids = [str(pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(index))) for index in indices]
    begun = [uuid for uuid in uuids if uuid.startswith(name)]
    return begun[0] if len(begun) == 1 else name
