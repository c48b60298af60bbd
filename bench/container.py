"""The container around this process, and what was left out of it."""

from __future__ import annotations

import os
from pathlib import Path

KERNEL_DRIVER = Path("/proc/driver/nvidia/version")
"""Shows in a container, too, whose own libraries know of no driver."""
WITH_GPUS = {
    "apptainer": "start it with --nv",
    "docker": "start it with --gpus all",
    "podman": "start it with --device nvidia.com/gpu=all",
}
"""How each kind of container is given the machine's GPUs."""


def apptainer_image() -> str | None:
    """The image that this process runs in, as Apptainer or Singularity names it; null elsewhere."""
    return os.environ.get("APPTAINER_CONTAINER") or os.environ.get("SINGULARITY_CONTAINER")


def container_kind() -> str | None:
    """`apptainer`, `podman` or `docker`; null outside of a container."""
    if apptainer_image() is not None or Path("/.singularity.d").is_dir():
        return "apptainer"
    if Path("/run/.containerenv").exists():
        return "podman"
    return "docker" if Path("/.dockerenv").exists() else None


def gpus_left_out(visible_gpus: int) -> str | None:
    """What is wrong, with the remedy, where the machine has NVIDIA devices and this container sees none of them."""
    kind = container_kind()
    if kind is None or visible_gpus or os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return None
    if not KERNEL_DRIVER.exists():
        return None
    return (
        f"this machine has NVIDIA devices, but this {kind} container sees no CUDA driver: {WITH_GPUS[kind]}"
    )
