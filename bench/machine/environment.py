"""Facts of this node for the `environment` table; fingerprints are made from them.

Facts and environment variables are a fixed list. Nothing that could hold a secret is read.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import bench
from bench.common.system_files import text_of
from bench.machine import gpu_vendor, provenance
from bench.machine.cgroup import cpu_quota
from bench.machine.container import apptainer_image, container_kind
from bench.slurm import allocation

_PACKAGES = ("torch", "torchvision", "numpy", "pyarrow")
OBEYED = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "NVIDIA_TF32_OVERRIDE",
    "CUBLAS_WORKSPACE_CONFIG", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING", "GLOO_SOCKET_IFNAME",
    "NCCL_ALGO", "NCCL_BUFFSIZE",
    "NCCL_COLLNET_ENABLE", "NCCL_CROSS_NIC", "NCCL_CUMEM_ENABLE", "NCCL_DMABUF_ENABLE", "NCCL_IB_ADAPTIVE_ROUTING",
    "NCCL_IB_DISABLE", "NCCL_IB_GID_INDEX", "NCCL_IB_HCA", "NCCL_IB_MERGE_NICS", "NCCL_IB_PCI_RELAXED_ORDERING",
    "NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_RETRY_CNT", "NCCL_IB_SL", "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_TC",
    "NCCL_IB_TIMEOUT", "NCCL_IGNORE_CPU_AFFINITY", "NCCL_LAUNCH_MODE", "NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS", "NCCL_MNNVL_ENABLE", "NCCL_NET", "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ",
    "NCCL_NET_PLUGIN", "NCCL_NET_SHARED_BUFFERS", "NCCL_NET_SHARED_COMMS", "NCCL_NSOCKS_PERTHREAD", "NCCL_NTHREADS",
    "NCCL_NVB_DISABLE", "NCCL_NVLS_ENABLE", "NCCL_P2P_DIRECT_DISABLE", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL",
    "NCCL_P2P_NET_CHUNKSIZE", "NCCL_PROTO", "NCCL_PXN_DISABLE", "NCCL_SHM_DISABLE", "NCCL_SOCKET_FAMILY",
    "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_NTHREADS", "NCCL_TUNER_PLUGIN",
)  # fmt: skip
"""Variables that change how libraries work: those that NCCL documents for speed and routes, and those of CUDA and torch
that change kernels, precision or memory. Listed by name: another variable with the same prefix could hold a secret."""
_VARIABLES = (
    *OBEYED, "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NCCL_DEBUG", "SLURM_JOB_ID",
    "SLURMD_NODENAME",
)  # fmt: skip


def gather(python: str | None = None) -> dict[str, str]:
    """Facts of this node by name, as text. `python`: that of the ranks, if it is another one; raises InputError if they
    cannot run in it."""
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
    if (quota := cpu_quota()) is not None:
        facts["cpu_quota"] = f"{quota:g}"
    facts |= {name: _version(name) for name in _PACKAGES}
    facts |= provenance.facts() | _gpus()
    if python is None:
        facts |= _built_for()
    else:
        from bench.agent.other_python import examine

        other = examine(python)
        facts |= other.facts | _built_for(other.torch)
    facts |= {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    return facts | allocation.facts(os.environ)


def cpu_model() -> str:
    """The kernel's name of the CPU model, or else of the architecture."""
    match = re.search(r"^model name\s*:\s*(.+)$", text_of("/proc/cpuinfo"), re.MULTILINE)
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


def _built_for(torch: Path | None = None) -> dict[str, str]:
    """The version of CUDA or ROCm that torch was built for."""
    versions = {"cuda": gpu_vendor.built_for("cuda", torch), "rocm": gpu_vendor.built_for("hip", torch)}
    return {name: version for name, version in versions.items() if version is not None}


def _gpus() -> dict[str, str]:
    """Facts of the driver and of every GPU; of a GPU in MIG mode, the name is of its first slice, the memory of its
    smallest."""
    if gpu_vendor.is_amd():
        return {}
    import pynvml

    from bench.machine.gpus import gpu_handles, nvml, slices

    facts: dict[str, str] = {}

    def note(name: str, read: Callable[..., object], *handle: Any) -> None:
        with suppress(pynvml.NVMLError):  # a GPU without a power limit, or a lost one, hides no other fact
            facts[name] = str(read(*handle))

    def memory_bytes(handle: Any) -> int | None:
        with suppress(pynvml.NVMLError):
            return int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
        return None

    def power_limit_w(handle: Any) -> float:
        return float(pynvml.nvmlDeviceGetPowerManagementLimit(handle)) / 1e3

    with nvml() as works:
        if not works:
            return {}
        note("driver", pynvml.nvmlSystemGetDriverVersion)
        for index, handle in gpu_handles():
            note(f"gpu{index}_power_limit_w", power_limit_w, handle)
            cut = slices(handle)
            if cut is not None:
                facts[f"gpu{index}_slices"] = str(len(cut))
            parts = [handle] if cut is None else cut
            for part in parts[:1]:
                note(f"gpu{index}_name", pynvml.nvmlDeviceGetName, part)
            if sizes := [size for part in parts if (size := memory_bytes(part)) is not None]:
                facts[f"gpu{index}_memory_bytes"] = str(min(sizes))
    return facts
