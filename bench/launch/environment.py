"""What the node is: facts for the `environment` table, and the fingerprint that comparisons rest on.

A fixed list of facts and of environment variables; nothing that could hold a secret is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import bench
from bench.container import apptainer_image
from bench.slurm import allocation

_PACKAGES = ("torch", "torchvision", "numpy", "pyarrow")
_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA",
    "NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_ALGO", "NCCL_PROTO", "GLOO_SOCKET_IFNAME", "PYTORCH_CUDA_ALLOC_CONF",
    "SLURM_JOB_ID", "SLURMD_NODENAME",
)  # fmt: skip


def gather() -> dict[str, str]:
    """Facts of this node as text."""
    facts = {
        "scalebench": bench.__version__,
        "python": platform.python_version(),
        "hostname": platform.node(),
        "kernel": platform.release(),
        "os": _os_name(),
        "cpu_model": cpu_model(),
        "cpus_online": str(os.cpu_count()),
        "cpus_given": str(len(os.sched_getaffinity(0))),
        "memory_bytes": str(psutil.virtual_memory().total),
        "container": apptainer_image() or "none",
    }
    facts |= {name: _version(name) for name in _PACKAGES}
    facts |= _gpus()
    facts |= {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    return facts | allocation.facts(os.environ)


def fingerprint(facts: dict[str, str], suite: dict[str, Any], device_type: str) -> dict[str, str]:
    """What must be equal for two runs to be compared as like with like."""
    canonical = json.dumps(_without_folders(suite), sort_keys=True).encode()
    keys = ["torch", "python", "container"]
    keys += (
        ["cpu_model", "cpus_given"] if device_type == "cpu" else ["driver", "gpu0_name", "gpu0_power_limit_w"]
    )
    return {"suite": _digest(canonical), "device_type": device_type} | {
        key: facts[key] for key in keys if key in facts
    }


def own_file(workload: str) -> dict[str, str]:
    """For the fingerprint: the content of the user's file that a workload `FILE.py:CLASS` comes from."""
    path = Path(workload.rpartition(":")[0])
    try:
        return {f"content of {path.name}": _digest(path.read_bytes())} if ":" in workload else {}
    except OSError:  # taken away while it ran: that it did is in the run's outcome
        return {}


def _without_folders(part: Any) -> Any:
    """The suite with `my_model.py:MyWorkload` for `/some/folder/my_model.py:MyWorkload`."""
    if isinstance(part, list):
        return [_without_folders(item) for item in part]
    if not isinstance(part, dict):
        return part
    plain = {key: _without_folders(item) for key, item in part.items()}
    workload = plain.get("workload")
    if isinstance(workload, dict) and ":" in str(workload.get("name")):
        plain["workload"] = workload | {"name": str(workload["name"]).rpartition("/")[2]}
    return plain


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def cpu_model() -> str:
    """As the kernel names it; the architecture where it does not."""
    match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return match.group(1).strip() if match else platform.machine()


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _gpus() -> dict[str, str]:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return {}
    facts = {"driver": str(pynvml.nvmlSystemGetDriverVersion())}
    for index in range(pynvml.nvmlDeviceGetCount()):
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        facts[f"gpu{index}_name"] = str(pynvml.nvmlDeviceGetName(handle))
        facts[f"gpu{index}_memory_bytes"] = str(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
        try:
            facts[f"gpu{index}_power_limit_w"] = str(pynvml.nvmlDeviceGetPowerManagementLimit(handle) / 1e3)
        except pynvml.NVMLError:
            continue  # not every device has a limit to read
    return facts
