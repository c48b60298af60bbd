"""The container around this process."""

from __future__ import annotations

import os
from pathlib import Path


def apptainer_image() -> str | None:
    """Path of the Apptainer or Singularity image around this process; null outside of one."""
    return os.environ.get("APPTAINER_CONTAINER") or os.environ.get("SINGULARITY_CONTAINER")


def container_kind() -> str | None:
    """`apptainer`, `podman` or `docker`; null outside of a container."""
    if apptainer_image() is not None or Path("/.singularity.d").is_dir():
        return "apptainer"
    if Path("/run/.containerenv").exists():
        return "podman"
    return "docker" if Path("/.dockerenv").exists() else None
