"""Facts of the NVIDIA driver: from /proc, which containers share, and from NVML, which needs the driver's library."""

from __future__ import annotations

import re
from dataclasses import replace

import pynvml

from bench.common.system_files import text_of
from bench.doctor.facts import Gpu, Nvidia
from bench.machine import gpus
from bench.machine.hidden_gpus import KERNEL_DRIVER


def gather_nvidia() -> Nvidia:
    """The driver and its GPUs. A machine without them is not an error."""
    kernel_driver = _kernel_driver()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Nvidia(kernel_driver=kernel_driver, nvml_error=str(error))
    try:
        cuda = pynvml.nvmlSystemGetCudaDriverVersion_v2()
        found = tuple(_gpu(index) for index in range(pynvml.nvmlDeviceGetCount()))
    except pynvml.NVMLError as error:
        return Nvidia(kernel_driver=kernel_driver, nvml_error=str(error))
    finally:
        pynvml.nvmlShutdown()
    return Nvidia(kernel_driver=kernel_driver, cuda=(cuda // 1000, cuda % 1000 // 10), gpus=found)


def _kernel_driver() -> str | None:
    if not KERNEL_DRIVER.is_file():
        return None
    version = re.search(r"\d+\.\d+(\.\d+)?", text_of(KERNEL_DRIVER))
    return version.group() if version else "unknown"


def _gpu(index: int) -> Gpu:
    """Every fact that can be read; an odd GPU does not hide the others."""
    found = Gpu(index=index)
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        found = replace(found, name=pynvml.nvmlDeviceGetName(handle))
        found = replace(found, slices=None if (cut := gpus.slices(handle)) is None else len(cut))
        major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
        found = replace(found, capability=(major, minor))
        return replace(found, memory_bytes=pynvml.nvmlDeviceGetMemoryInfo(handle).total)
    except pynvml.NVMLError as error:
        return replace(found, problem=str(error))
