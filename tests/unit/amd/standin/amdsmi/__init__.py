"""A stand-in for AMD's package amdsmi: the functions that bench calls, with the keys and units of its documentation
(ROCm 6.3 and 6.4)."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

NOT_SUPPORTED = 2
DRIVER_NOT_LOADED = 34

gpus: list[dict[str, Any]] = []
"""The machine's GPUs, in amdsmi's order: a test sets them. A reading that is an exception is raised."""
opened = 0


class AmdSmiException(Exception):  # noqa: N818 - the name in the library
    """Base of all others."""


class AmdSmiLibraryException(AmdSmiException):
    def __init__(self, err_code: int) -> None:
        super().__init__(err_code)
        self.err_code = err_code

    def __str__(self) -> str:
        return f"Error code:\n\t{self.err_code} | AMDSMI_STATUS"


class AmdSmiTemperatureType(IntEnum):
    EDGE = 0
    JUNCTION = 1


class AmdSmiTemperatureMetric(IntEnum):
    CURRENT = 0


class AmdSmiClkType(IntEnum):
    SYS = 0
    GFX = 1


def amdsmi_init() -> None:
    global opened  # noqa: PLW0603 - as in the library
    if not gpus:
        raise AmdSmiLibraryException(DRIVER_NOT_LOADED)
    opened += 1


def amdsmi_shut_down() -> None:
    global opened  # noqa: PLW0603 - as in the library
    opened -= 1


def amdsmi_get_processor_handles() -> list[int]:
    if not opened:
        raise AmdSmiLibraryException(32)
    return list(range(len(gpus)))


def _reading(handle: int, name: str) -> Any:
    value = gpus[handle].get(name, AmdSmiLibraryException(NOT_SUPPORTED))
    if isinstance(value, Exception):
        raise value
    return value


def amdsmi_get_gpu_enumeration_info(handle: int) -> dict[str, Any]:
    return {"drm_card": handle, "hip_id": _reading(handle, "hip_id")}


def amdsmi_get_gpu_device_bdf(handle: int) -> str:
    return str(_reading(handle, "bdf"))


def amdsmi_get_gpu_asic_info(handle: int) -> dict[str, Any]:
    return {
        "market_name": _reading(handle, "name"),
        "asic_serial": _reading(handle, "serial"),
        "vendor_id": "0x1002",
    }


def amdsmi_get_gpu_vram_usage(handle: int) -> dict[str, int]:
    return {"vram_total": _reading(handle, "total_mib"), "vram_used": _reading(handle, "used_mib")}


def amdsmi_get_power_cap_info(handle: int) -> dict[str, int]:
    return {"power_cap": _reading(handle, "power_cap_uw"), "dpm_cap": 0}


def amdsmi_get_gpu_activity(handle: int) -> dict[str, Any]:
    return {"gfx_activity": _reading(handle, "busy"), "umc_activity": 3, "mm_activity": "N/A"}


def amdsmi_get_power_info(handle: int) -> dict[str, Any]:
    return {
        "current_socket_power": _reading(handle, "current_w"),
        "average_socket_power": _reading(handle, "average_w"),
    }


def amdsmi_get_energy_count(handle: int) -> dict[str, Any]:
    count = _reading(handle, "energy_count")
    return {"power": count, "energy_accumulator": count, "counter_resolution": 15.3, "timestamp": 1}


def amdsmi_get_temp_metric(
    handle: int, sensor: AmdSmiTemperatureType, metric: AmdSmiTemperatureMetric
) -> int:
    assert (sensor, metric) == (AmdSmiTemperatureType.JUNCTION, AmdSmiTemperatureMetric.CURRENT)
    return int(_reading(handle, "temperature_c"))


def amdsmi_get_clock_info(handle: int, clock: AmdSmiClkType) -> dict[str, int]:
    assert clock is AmdSmiClkType.GFX
    return {"clk": _reading(handle, "clock_mhz"), "min_clk": 500, "max_clk": 1700}
