"""AMD GPUs: how many HIP will see, their UUIDs and facts, from the package amdsmi or, without it, from the kernel.

Their order is HIP's. This has not run on an AMD GPU yet: names and units are those of amdsmi's documentation.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.common.errors import InputError
from bench.machine import cpus, gpu_vendor
from bench.records.messages import Gpu

KERNEL_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
"""A folder for each CPU and GPU that the kernel's driver of compute has. Containers see it, too."""
PCI_DEVICES = Path("/sys/bus/pci/devices")
KERNEL_DRIVER = Path("/sys/module/amdgpu/version")
"""Missing if the driver is the kernel's own."""
_MIB = 2**20


@contextmanager
def opened() -> Iterator[ModuleType | None]:
    """amdsmi while its library is loaded; null if the package, its library or the driver is missing."""
    amdsmi = load()
    try:
        yield amdsmi
    finally:
        if amdsmi is not None:
            with suppress(*errors(amdsmi)):
                amdsmi.amdsmi_shut_down()


def load() -> ModuleType | None:
    """amdsmi, initialised until the process ends; null as in `opened`."""
    try:
        amdsmi = importlib.import_module("amdsmi")  # a part of ROCm, and no dependency of ours
    except (ImportError, OSError, KeyError, AttributeError):  # it is not there, or finds no library that fits
        return None
    try:
        amdsmi.amdsmi_init()
    except errors(amdsmi):
        return None
    return amdsmi


def errors(amdsmi: ModuleType) -> tuple[type[Exception], ...]:
    """Exceptions of a call of amdsmi. It raises OSError if its library is missing."""
    return (amdsmi.AmdSmiException, OSError)


def handles(amdsmi: ModuleType) -> list[Any]:
    """amdsmi's handle of each GPU in HIP's order, if amdsmi tells it, which ROCm 6.4 began to; else in amdsmi's."""
    try:
        found = list(amdsmi.amdsmi_get_processor_handles())
    except errors(amdsmi):
        return []
    try:
        order = [amdsmi.amdsmi_get_gpu_enumeration_info(handle)["hip_id"] for handle in found]
    except (AttributeError, KeyError):
        return found
    except errors(amdsmi):
        return found
    if not all(isinstance(number, int) for number in order):
        return found
    return [found[place] for place in sorted(range(len(found)), key=order.__getitem__)]


def uuids(amdsmi: ModuleType | None) -> list[str | None]:
    """The UUID of each GPU as HIP and ROCR_VISIBLE_DEVICES have it, `GPU-` and 16 digits; null if it has none of its
    own, as the partitions of a GPU."""
    told = _uuids_of_the_kernel() if amdsmi is None else [_uuid(amdsmi, handle) for handle in handles(amdsmi)]
    return [uuid if told.count(uuid) == 1 else None for uuid in told]


def _uuid(amdsmi: ModuleType, handle: Any) -> str | None:
    with suppress(*errors(amdsmi)):
        serial = str(amdsmi.amdsmi_get_gpu_asic_info(handle)["asic_serial"])
        if serial.lower().startswith("0x"):
            return f"GPU-{serial[2:].lower()}"
    return None


def _uuids_of_the_kernel() -> list[str | None]:
    found: list[str | None] = []
    for file in sorted(KERNEL_NODES.glob("*/properties"), key=lambda file: int(file.parent.name)):
        with suppress(OSError):  # a GPU that the control group does not give
            facts = dict(re.findall(r"^(simd_count|unique_id) (\d+)$", file.read_text(), re.MULTILINE))
            if int(facts.get("simd_count", 0)):
                number = int(facts.get("unique_id", 0))
                found.append(f"GPU-{number:016x}" if number else None)
    return found


def visible() -> list[Gpu]:
    """The GPUs that HIP will see, found without HIP. Raises InputError for a wrong list of devices."""
    with opened() as amdsmi:
        of_all = uuids(amdsmi)
        near = (
            [[] for _ in of_all] if amdsmi is None else [_near_cpus(amdsmi, one) for one in handles(amdsmi)]
        )
        return [
            Gpu(index=index, uuid=of_all[place], cpus=near[place])
            for index, place in enumerate(visible_indices(of_all))
        ]


def _near_cpus(amdsmi: ModuleType, handle: Any) -> list[int]:
    """CPUs near the GPU, by its address on the bus; empty if they are not known."""
    with suppress(*errors(amdsmi), ValueError):
        address = str(amdsmi.amdsmi_get_gpu_device_bdf(handle)).lower()
        return cpus.numbers((PCI_DEVICES / address / "local_cpulist").read_text())
    return []


def visible_indices(of_all: Sequence[str | None]) -> list[int]:
    """Indices of the GPUs that HIP will see, in its order, out of the UUIDs of all. Raises InputError for an entry that
    is no GPU or names one twice: HIP would stop reading there."""
    left = list(range(len(of_all)))
    for variable in gpu_vendor.variables() if left else ():
        wanted = os.environ.get(variable)
        if wanted is not None:
            chosen = _chosen(variable, wanted, [of_all[index] for index in left])
            left = [left[index] for index in chosen]
    return left


def _chosen(variable: str, wanted: str, of_left: Sequence[str | None]) -> list[int]:
    if wanted.strip() in gpu_vendor.NO_DEVICES:
        return []
    found = [_index(word.strip(), of_left) for word in wanted.split(",")]
    have = f"GPUs 0 to {len(of_left) - 1}" if len(of_left) > 1 else "GPU 0 alone" if of_left else "no GPU"
    if None in found:
        word = wanted.split(",")[found.index(None)].strip()
        raise InputError(
            f"{variable}={wanted}: {word!r} is not a GPU of this machine, which has {have}: name those, or unset it "
            "to use all"
        )
    if len(set(found)) < len(found):
        raise InputError(f"{variable}={wanted} names a GPU twice: HIP would show none; name each once")
    return [index for index in found if index is not None]


def _index(word: str, of_left: Sequence[str | None]) -> int | None:
    if word.isdecimal():
        return int(word) if int(word) < len(of_left) else None
    named = [
        index
        for index, uuid in enumerate(of_left)
        if word.startswith("GPU-") and uuid and uuid.startswith(word)
    ]
    return named[0] if len(named) == 1 else None


def facts() -> dict[str, str]:
    """Facts of the driver and of every GPU for the `environment` table, as those of NVML are named."""
    found = {} if (driver := kernel_driver()) is None else {"driver": driver}
    with opened() as amdsmi:
        if amdsmi is None:
            return found
        for index, handle in enumerate(handles(amdsmi)):
            readings: dict[str, Callable[[ModuleType, Any], object]] = {
                "name": name, "memory_bytes": memory_bytes, "power_limit_w": power_limit_w,
            }  # fmt: skip
            for key, read in readings.items():
                with suppress(*errors(amdsmi)):
                    value = read(amdsmi, handle)
                    if value is not None:
                        found[f"gpu{index}_{key}"] = str(value)
    return found


def kernel_driver() -> str | None:
    """Version of the kernel's driver, `unknown` if it does not tell; null if it is not loaded."""
    if not KERNEL_DRIVER.parent.is_dir():
        return None
    try:
        return KERNEL_DRIVER.read_text().strip()
    except OSError:
        return "unknown"


def name(amdsmi: ModuleType, handle: Any) -> str | None:
    found = str(amdsmi.amdsmi_get_gpu_asic_info(handle)["market_name"])
    return None if found == "N/A" else found


def memory_bytes(amdsmi: ModuleType, handle: Any) -> int | None:
    return number(amdsmi.amdsmi_get_gpu_vram_usage(handle)["vram_total"], _MIB)


def power_limit_w(amdsmi: ModuleType, handle: Any) -> float | None:
    limit = number(amdsmi.amdsmi_get_power_cap_info(handle)["power_cap"])
    return (
        None if limit is None else limit / 1e6 if limit > 1e5 else limit
    )  # microwatts; watts before ROCm 6.2


def number(value: object, unit: int = 1) -> int | None:
    """A reading in its unit; null for amdsmi's `N/A`."""
    return value * unit if isinstance(value, int) else None
