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
from bench.cgroup import cpu_quota
from bench.container import apptainer_image, container_kind
from bench.launch import provenance
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
"""That libraries obey: of NCCL what its documentation lists for speed and routes, of CUDA and torch what changes
kernels, precision or memory. By name, since what begins like these could hold a secret."""
_VARIABLES = (*OBEYED, "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "SLURM_JOB_ID", "SLURMD_NODENAME")


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
    if (quota := cpu_quota()) is not None:
        facts["cpu_quota"] = f"{quota:g}"
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
