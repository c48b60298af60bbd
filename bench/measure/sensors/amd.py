"""A GPU's sensors, by amdsmi. Readings that a device or driver lacks are left out, never guessed.

The reasons for lower clocks are left out: AMD's have other names than NVML's bits. No GPU of AMD was tried yet.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from bench.common.errors import InputError
from bench.machine import amd_gpus

_NEVER = (2, 3, 10)
"""amdsmi's AMDSMI_STATUS_NOT_SUPPORTED, _NOT_YET_IMPLEMENTED and _NO_PERM."""


class GpuSensor:
    """One GPU. `device` is its index among the devices that HIP sees."""

    def __init__(self, device: int, amdsmi: ModuleType, handle: Any) -> None:
        self.device = device
        self._errors = amd_gpus.errors(amdsmi)
        self._readings: dict[str, Callable[[], float | None]] = {
            "gpu_util_pct": lambda: amd_gpus.number(amdsmi.amdsmi_get_gpu_activity(handle)["gfx_activity"]),
            "memory_used_bytes": lambda: amd_gpus.number(
                amdsmi.amdsmi_get_gpu_vram_usage(handle)["vram_used"], 2**20
            ),
            "power_w": lambda: _power_w(amdsmi.amdsmi_get_power_info(handle)),
            "energy_j": lambda: _energy_j(amdsmi.amdsmi_get_energy_count(handle)),
            "temperature_c": lambda: _temperature_c(
                amdsmi.amdsmi_get_temp_metric(
                    handle, amdsmi.AmdSmiTemperatureType.JUNCTION, amdsmi.AmdSmiTemperatureMetric.CURRENT
                )
            ),
            "sm_clock_mhz": lambda: _clock_mhz(
                amdsmi.amdsmi_get_clock_info(handle, amdsmi.AmdSmiClkType.GFX)
            ),
        }

    def read(self) -> dict[str, float]:
        """Every reading of the device. One that the device lacks or does not permit is not read again; another failure
        may pass."""
        values: dict[str, float] = {}
        for name, reading in list(self._readings.items()):
            try:
                value = reading()
            except self._errors as error:
                if getattr(error, "err_code", None) in _NEVER:
                    del self._readings[name]
                continue
            if value is not None:
                values[name] = float(value)
        return values


def _power_w(info: dict[str, Any]) -> float | None:
    """The board's power. A board with two devices tells it for the first; the second has 0, which is no reading."""
    for name in ("current_socket_power", "average_socket_power"):
        if power := amd_gpus.number(info.get(name)):
            return power
    return None


def _energy_j(info: dict[str, Any]) -> float | None:
    count = info.get("energy_accumulator", info.get("power"))  # the second name is that of ROCm before 6.2
    return count * info["counter_resolution"] / 1e6 if isinstance(count, int) and count else None


def _temperature_c(value: object) -> float | None:
    """Degrees; the documentation of amdsmi says thousandths, torch reads degrees."""
    found = amd_gpus.number(value)
    return None if found is None else found / 1e3 if found > 1e3 else found


def _clock_mhz(info: dict[str, Any]) -> float | None:
    return amd_gpus.number(info.get("clk", info.get("cur_clk")))  # the second name is that of ROCm before 6.2


def gpu_sensors() -> list[GpuSensor]:
    """A sensor for each GPU that this process may use, in HIP's order; empty without amdsmi."""
    amdsmi = amd_gpus.load()
    if amdsmi is None:
        return []
    handles = amd_gpus.handles(amdsmi)
    try:
        visible = amd_gpus.visible_indices(amd_gpus.uuids(amdsmi))
    except InputError:  # `bench doctor` reports it
        return []
    return [GpuSensor(device, amdsmi, handles[index]) for device, index in enumerate(visible)]
