"""The NVIDIA driver and its GPUs, as NVML shows them."""

from __future__ import annotations

from collections import Counter

from bench.container import WITH_GPUS
from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, counted, fail, ok, warn


def check(facts: Facts) -> Verdicts:
    nvidia = facts.nvidia
    if nvidia.gpus:
        kinds = Counter(f"{gpu.name}, {gpu.memory_bytes / 2**30:.0f} GiB" for gpu in nvidia.gpus)
        listed = "; ".join(f"{count} x {kind}" for kind, count in kinds.items())
        yield ok(f"{listed} (driver {nvidia.kernel_driver or 'unknown'})")
        for gpu in nvidia.gpus:
            if gpu.mig_uuids:
                yield ok(f"GPU {gpu.index} is cut into {counted(len(gpu.mig_uuids), 'MIG slice')}")
        return
    if nvidia.kernel_driver is None and not _given(facts):
        yield ok("no NVIDIA driver: runs use the CPU")
        return
    yield from _driver_without_gpus(facts)


def _given(facts: Facts) -> bool:
    return facts.environment.get("SLURM_GPUS_ON_NODE", "0") not in ("", "0")


def _driver_without_gpus(facts: Facts) -> Verdicts:
    """Without GPUs asked for, that is how an image is tested on a GPU machine, say: worth a word, no failure."""
    if facts.nvidia.kernel_driver is None:
        text = "Slurm gave GPUs, but there is no NVIDIA driver here"
    else:
        cause = f" (NVML: {facts.nvidia.nvml_error})" if facts.nvidia.nvml_error else ""
        text = f"driver {facts.nvidia.kernel_driver} is loaded, but no GPU is visible{cause}"
    if facts.container:
        text = f"{text} inside this {facts.container} container"
        remedy = f"{WITH_GPUS[facts.container]}; if it was, this node has no working NVIDIA driver"
    else:
        remedy = "see whether `nvidia-smi` works; after a driver update the machine must restart"
    yield (fail if _given(facts) else warn)(text, remedy)
