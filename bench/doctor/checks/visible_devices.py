"""CUDA_VISIBLE_DEVICES: CUDA itself stops reading at the first wrong entry and says nothing."""

from __future__ import annotations

from bench.doctor.facts import Facts, Gpu
from bench.doctor.finding import Verdicts, fail, ok, warn

_REMEDY = "unset CUDA_VISIBLE_DEVICES, or name GPUs as `nvidia-smi -L` lists them"


def check(facts: Facts) -> Verdicts:
    value, gpus = facts.environment.get("CUDA_VISIBLE_DEVICES"), facts.nvidia.gpus
    if value is None or not gpus:
        if value:
            yield ok(f"CUDA_VISIBLE_DEVICES={value} says nothing here: there is no GPU")
        return
    entries = [entry.strip() for entry in value.split(",")]
    if entries[0] in ("", "-1", "NoDevFiles"):
        yield warn(f"CUDA_VISIBLE_DEVICES={value} hides all {len(gpus)} GPUs: runs use the CPU", _REMEDY)
        return
    places = []
    for entry in entries:
        found = matching(entry, gpus)
        if len(found) != 1:
            why = "is no GPU of this machine" if not found else f"stands for {len(found)} GPUs"
            yield fail(f"CUDA_VISIBLE_DEVICES={value}: {entry!r} {why} ({_range(gpus)})", _REMEDY)
            return
        places += found
    if len(set(places)) < len(places):
        yield fail(f"CUDA_VISIBLE_DEVICES={value} names a GPU twice", _REMEDY)
        return
    yield ok(f"CUDA_VISIBLE_DEVICES={value} shows {len(places)} of {len(gpus)} GPUs")


def matching(entry: str, gpus: tuple[Gpu, ...]) -> list[str]:
    """UUIDs of the GPUs or MIG slices that `entry` (an index, or the beginning of a UUID) stands for."""
    if entry.isdecimal():
        return [gpu.uuid for gpu in gpus if gpu.index == int(entry)]
    if entry.startswith("MIG-"):
        return [uuid for gpu in gpus for uuid in gpu.mig_uuids if uuid.startswith(entry)]
    return [gpu.uuid for gpu in gpus if entry.startswith("GPU-") and gpu.uuid.startswith(entry)]


def _range(gpus: tuple[Gpu, ...]) -> str:
    return f"there is 0 to {len(gpus) - 1}" if len(gpus) > 1 else "there is only 0"
