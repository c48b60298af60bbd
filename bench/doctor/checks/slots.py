"""Slots: the number of ranks that this node can host, as a plan counts them, by CUDA_VISIBLE_DEVICES and Slurm."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, fail, ok, warn
from bench.machine import gpu_vendor
from bench.machine.slots import threads_per_rank


def check(facts: Facts) -> Verdicts:
    slots, gpus = facts.slots, facts.gpus
    if slots is None:
        # CUDA itself would silently stop reading at the first wrong entry
        yield fail(facts.slots_error or "the slots cannot be counted", _remedy(facts))
        return
    each = "a GPU" if slots.device_type == "cuda" else "no GPU"
    cpus = threads_per_rank(slots, slots.device_type)
    fit = "1 rank fits" if slots.slots_per_node == 1 else f"{slots.slots_per_node} ranks fit"
    yield ok(f"{fit} on this node, each with {each} and {cpus} of its CPUs")
    visible = facts.visible_devices
    if gpus and visible is not None and slots.cuda_devices_per_node == 0:
        hidden = "the only GPU" if gpus == 1 else f"all {gpus} GPUs"
        yield warn(f"{visible[0]}={visible[1]} hides {hidden}: runs use the CPU", _remedy(facts))


def _remedy(facts: Facts) -> str:
    variables = " and ".join(gpu_vendor.variables_in(facts.environment, amd=facts.is_rocm))
    tool = "amd-smi list" if facts.is_rocm else "nvidia-smi -L"
    return f"unset {variables}, or name GPUs as `{tool}` does"
