"""The driver and its GPUs, as NVML shows them; of AMD's GPUs the number."""

from __future__ import annotations

from bench.doctor.facts import Facts, listed
from bench.doctor.finding import Verdict, Verdicts, counted, fail, ok, warn
from bench.machine.hidden_gpus import NO_AMD_GPU, WITH_GPUS


def check(facts: Facts) -> Verdicts:
    nvidia = facts.nvidia
    if facts.is_rocm:
        yield _of_amd(facts)
        return
    if nvidia.gpus:
        yield ok(f"{listed(nvidia.gpus)} (driver {nvidia.kernel_driver or 'unknown'})")
        for gpu in nvidia.gpus:
            if gpu.problem is not None:
                yield warn(
                    f"GPU {gpu.index} does not answer as it should (NVML: {gpu.problem})",
                    "leave it out with CUDA_VISIBLE_DEVICES; if it is lost, only a restart of the node brings it back",
                )
            if gpu.slices:
                yield ok(f"GPU {gpu.index} is cut into {counted(gpu.slices, 'MIG slice')}: one for each rank")
            elif gpu.slices == 0:
                yield warn(
                    f"GPU {gpu.index} is in MIG mode without a slice, so that no program can use it",
                    f"`nvidia-smi mig -cgi 9,9 -C -i {gpu.index}` makes two; `nvidia-smi -mig 0` turns the mode off",
                )
        return
    given_by_slurm = facts.environment.get("SLURM_GPUS_ON_NODE", "0") not in ("", "0")
    if (
        nvidia.kernel_driver is None and facts.amd_gpus
    ):  # perhaps the graphics of a CPU, so this is no warning
        yield ok(
            f"{counted(facts.amd_gpus, 'GPU')} of AMD: this torch is not built for ROCm, so runs use the CPU"
        )
        return
    if nvidia.kernel_driver is None and not given_by_slurm:
        yield ok("no NVIDIA driver: runs use the CPU")
        return
    if nvidia.kernel_driver is None:
        text = "Slurm gave GPUs, but there is no NVIDIA driver here"
    else:
        cause = f" (NVML: {nvidia.nvml_error})" if nvidia.nvml_error else ""
        text = f"driver {nvidia.kernel_driver} is loaded, but no GPU is visible{cause}"
    if facts.container:
        text = f"{text} inside this {facts.container} container"
        remedy = f"{WITH_GPUS[facts.container]}; if it was, this node has no working NVIDIA driver"
    else:
        remedy = "see whether `nvidia-smi` works; after a driver update the machine must restart"
    # only a warning if Slurm gave no GPUs: an image may be tested on a GPU machine without them
    yield (fail if given_by_slurm else warn)(text, remedy)


def _of_amd(facts: Facts) -> Verdict:
    if not facts.amd_gpus:
        return warn(
            f"{NO_AMD_GPU}: runs need --device cpu",
            "see whether `amd-smi list` shows one; a container needs /dev/kfd and /dev/dri",
        )
    return warn(
        f"{counted(facts.amd_gpus, 'GPU')} of AMD. Only the number is read: no driver, memory, near CPUs, utilisation, "
        "power, energy, temperature or clock. No run on such a GPU was tried yet",
        "watch them with `amd-smi monitor`, and compare the first results with those of another tool",
    )
