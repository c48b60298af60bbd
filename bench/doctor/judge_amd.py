"""The check `gpu` for GPUs of AMD, which need a torch that is built for ROCm. None was tried yet."""

from __future__ import annotations

from bench.doctor.facts import Facts, listed
from bench.doctor.finding import Verdicts, ok, warn
from bench.machine.hidden_gpus import WITH_AMD_GPUS


def without_rocm(facts: Facts) -> Verdicts:
    """For a torch that is not built for ROCm, on a machine with GPUs of AMD alone. They may be the graphics of its CPU,
    so this is no warning."""
    yield ok(f"{listed(facts.amd.gpus)}: this torch is not built for ROCm, so runs use the CPU")


def with_rocm(facts: Facts) -> Verdicts:
    """For a torch that is built for ROCm."""
    amd = facts.amd
    if not amd.gpus:
        remedy = (
            WITH_AMD_GPUS[facts.container] if facts.container else "see whether `amd-smi list` shows a GPU"
        )
        yield warn("torch is built for ROCm, but no GPU of AMD is visible: runs use the CPU", remedy)
        return
    yield ok(f"{listed(amd.gpus)} (driver {amd.kernel_driver or 'unknown'})")
    for gpu in amd.gpus:
        if gpu.problem is not None:
            yield warn(
                f"GPU {gpu.index} does not answer as it should (amdsmi: {gpu.problem})",
                "leave it out with ROCR_VISIBLE_DEVICES",
            )
    if not amd.has_amdsmi:
        yield warn(
            "without amdsmi there are no readings of power, energy, clocks and memory",
            "uv pip install amdsmi",
        )
    yield warn(
        "nothing in scalebench was tried on a GPU of AMD yet",
        "compare the first results with those of another tool, and report what differs",
    )
