"""A GPU's sensors, by NVML. Readings that a device or driver lacks are left out, never guessed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pynvml

from bench.machine.gpus import visible_with_handles

_NEVER = (
    pynvml.NVMLError_NotSupported,
    pynvml.NVMLError_FunctionNotFound,
    pynvml.NVMLError_NoPermission,
)


class GpuSensor:
    """One GPU. `device` is its index among those of this process."""

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
    """A sensor for each GPU or slice that this process may use, numbered as bench/machine/gpus.py does; empty without a
    driver."""
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()  # for the life of the process
    return [GpuSensor(gpu.index, handle) for gpu, handle in visible_with_handles() if handle is not None]
