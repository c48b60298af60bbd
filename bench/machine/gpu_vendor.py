"""Whose GPUs the installed torch uses, and how that vendor's GPUs are chosen.

torch's builds for ROCm call AMD's GPUs `cuda`, too, so nothing else has to ask. No run on an AMD GPU was tried yet.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
from collections.abc import Mapping
from pathlib import Path

CUDA_VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
NO_DEVICES = ("", "-1", "NoDevFiles")
"""Lists, some of Slurm's, that hide every GPU."""


@functools.cache
def is_amd() -> bool:
    """Whether torch is built for ROCm."""
    return built_for("hip") is not None


def built_for(library: str, torch: Path | None = None) -> str | None:
    """The version of `cuda` or `hip` that torch was built for; null if for neither, or without torch. It is read from
    torch/version.py: importing torch takes seconds. `torch`: the folder of another Python's."""
    file = _version_file() if torch is None else torch / "version.py"
    try:
        text = "" if file is None else file.read_text("utf-8")
    except OSError:  # an incomplete installation, which the doctor reports
        return None
    match = re.search(rf"^{library}\b[^=]*= '(\d[^']*)'", text, re.MULTILINE)
    return match[1] if match else None


def _version_file() -> Path | None:
    torch = importlib.util.find_spec("torch")
    return None if torch is None or torch.origin is None else Path(torch.origin).with_name("version.py")


def variables() -> tuple[str, ...]:
    """Variables that choose this process's GPUs, as `variables_in` has them."""
    return variables_in(os.environ, amd=is_amd())


def variables_in(environment: Mapping[str, str], *, amd: bool) -> tuple[str, ...]:
    """Variables that choose GPUs, in the order in which they are applied: the second chooses among those that the
    first leaves. `amd`: whether torch is built for ROCm."""
    if not amd:
        return (CUDA_VISIBLE_DEVICES,)
    # HIP reads CUDA's variable only if its own is not set
    own = "HIP_VISIBLE_DEVICES" if "HIP_VISIBLE_DEVICES" in environment else CUDA_VISIBLE_DEVICES
    return ("ROCR_VISIBLE_DEVICES", own)


def visible_devices() -> str | None:
    """The list that chooses this process's GPUs, which Slurm and other launchers set; null if none is set."""
    return next((os.environ[name] for name in variables() if name in os.environ), None)
