"""GPUs of the machine that this process does not see, because its container was started without them."""

from __future__ import annotations

from pathlib import Path

from bench.machine import amd_gpus, gpu_vendor, gpus
from bench.machine.container import container_kind

KERNEL_DRIVER = Path("/proc/driver/nvidia/version")
"""Also visible in a container that was started without the driver's libraries."""
WITH_GPUS = {
    "apptainer": "start it with --nv",
    "docker": "start it with --gpus all",
    "podman": "start it with --device nvidia.com/gpu=all",
}
"""How to give the machine's GPUs to each kind of container."""
WITH_AMD_GPUS = {
    "apptainer": "start it with --rocm",
    "docker": "start it with --device /dev/kfd --device /dev/dri",
    "podman": "start it with --device /dev/kfd --device /dev/dri",
}
"""The same for AMD's."""


def gpus_left_out(visible_gpus: int) -> str | None:
    """A warning with a remedy if the machine has GPUs for this torch and this process sees none; otherwise null."""
    if visible_gpus or gpu_vendor.visible_devices() == "":
        return None
    if not gpu_vendor.is_amd() and (problem := gpus.nvml_problem()) is not None:
        return (
            f"NVML does not start ({problem}), so no GPU can be used: after an update of the driver the machine must "
            "restart; `bench doctor` says more"
        )
    kind = container_kind()
    if kind is None:
        return None
    if gpu_vendor.is_amd():
        if amd_gpus.kernel_driver() is None:
            return None
        return f"this machine has AMD's driver, but this {kind} container sees no GPU of it: {WITH_AMD_GPUS[kind]}"
    if not KERNEL_DRIVER.exists():
        return None
    return (
        f"this machine has NVIDIA devices, but this {kind} container sees no CUDA driver: {WITH_GPUS[kind]}"
    )
