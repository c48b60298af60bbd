"""What the node is: facts for the `environment` table, from which fingerprints are made.

A fixed list of facts and of environment variables; nothing that could hold a secret is read.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
from importlib import metadata
from pathlib import Path

import psutil

import bench
from bench.container import apptainer_image, container_kind
from bench.launch import provenance
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
        "container": apptainer_image() or container_kind() or "none",
    }
    facts |= {name: _version(name) for name in _PACKAGES}
    facts |= provenance.facts() | _cuda() | _gpus()
    facts |= {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    return facts | allocation.facts(os.environ)


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


def _cuda() -> dict[str, str]:
    """The version that torch was built for, out of a file of its: importing torch takes seconds."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return {}
    text = Path(torch.origin).with_name("version.py").read_text(encoding="utf-8")
    match = re.search(r"^cuda\b[^=]*= '([\d.]+)'", text, re.MULTILINE)
    return {"cuda": match[1]} if match else {}


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
