"""GPUs that torch is built for and this process does not see, mostly because its container was started without them."""

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
NO_AMD_GPU = "torch is built for ROCm, but no GPU of AMD is visible"


def gpus_left_out(visible_gpus: int) -> str | None:
    """A warning with a remedy if the machine has GPUs for this torch and this process sees none; otherwise null."""
    if visible_gpus or gpu_vendor.visible_devices() == "":
        return None
    if gpu_vendor.is_amd():
        return None if amd_gpus.uuids() else f"{NO_AMD_GPU} in {amd_gpus.KERNEL_NODES}"
    if (problem := gpus.nvml_problem()) is not None:
        return (
            f"NVML does not start ({problem}), so no GPU can be used: after an update of the driver the machine must "
            "restart; `bench doctor` says more"
        )
    kind = container_kind()
    if kind is None or not KERNEL_DRIVER.exists():
        return None
    return (
        f"this machine has NVIDIA devices, but this {kind} container sees no CUDA driver: {WITH_GPUS[kind]}"
    )
