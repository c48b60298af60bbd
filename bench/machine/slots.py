"""Slots: the number of ranks that each node of this machine, or of this Slurm step, can host."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pynvml

from bench.common.errors import InputError
from bench.records.run_spec import Slots
from bench.records.vocabulary import DeviceType

_NO_DEVICES = ("", "-1", "NoDevFiles")


def detect(ranks_per_node: int | None = None) -> Slots:
    """Slots of this machine or step; `ranks_per_node` overrides their number.

    Raises InputError if CUDA_VISIBLE_DEVICES or a variable of Slurm is wrong."""
    in_step = "SLURM_STEP_ID" in os.environ
    visible = visible_gpus()
    given = _step_gpus(visible) if in_step else 0
    gpus = (given or visible) if visible else 0
    by_hand = ranks_per_node or given
    cpus = _cpus(in_step)
    return Slots(
        nodes=slurm_number("SLURM_STEP_NUM_NODES") or 1 if in_step else 1,
        slots_per_node=by_hand or gpus or cpus,
        cpus_per_node=cpus,
        device_type="cuda" if gpus else "cpu",
        cuda_devices_per_node=gpus,
        fixed=bool(by_hand),
    )


def slots_per_node(slots: Slots, device_type: DeviceType, threads: int | None) -> int:
    """Ranks that a node can host on this type of device; 0 if it has fewer CPUs than a rank has threads."""
    if slots.fixed:
        return slots.slots_per_node
    if device_type == "cuda":
        return slots.cuda_devices_per_node
    return slots.cpus_per_node // (threads or 1)


def threads_per_rank(slots: Slots, device_type: DeviceType) -> int:
    """CPUs of a slot: the number of threads of a rank unless its case sets it."""
    return max(1, slots.cpus_per_node // max(1, slots_per_node(slots, device_type, None)))


def visible_gpus() -> int:
    """Number of GPUs that CUDA will see, counted without CUDA. Raises InputError for a wrong CUDA_VISIBLE_DEVICES."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return 0  # no driver, so no GPU; `bench doctor` says why
    try:
        count = _gpu_count()
        wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
        return count if wanted is None or count == 0 else _count_visible(wanted, count)
    finally:
        pynvml.nvmlShutdown()


def _gpu_count() -> int:
    try:
        return int(pynvml.nvmlDeviceGetCount())
    except pynvml.NVMLError:
        return 0


def gpu_handles() -> Iterator[tuple[int, Any]]:
    """Index and NVML's handle of each GPU that has one; a lost GPU has none."""
    for index in range(_gpu_count()):
        with suppress(pynvml.NVMLError):
            yield index, pynvml.nvmlDeviceGetHandleByIndex(index)


def gpu_uuids() -> dict[int, str]:
    """UUID of each GPU that tells it, by index."""
    found = {}
    for index, handle in gpu_handles():
        with suppress(pynvml.NVMLError):
            found[index] = str(pynvml.nvmlDeviceGetUUID(handle))
    return found


def _count_visible(wanted: str, count: int) -> int:
    if wanted.strip() in _NO_DEVICES:
        return 0
    found = [_gpu(word.strip(), wanted, count) for word in wanted.split(",")]
    if len(set(found)) < len(found):
        raise InputError(
            f"CUDA_VISIBLE_DEVICES={wanted} names a GPU twice: CUDA would show none; name each once"
        )
    return len(found)


def _gpu(word: str, wanted: str, count: int) -> str:
    """The GPU of one entry: its index, or for a MIG slice its UUID. Raises InputError if there is no such GPU."""
    if word.isdecimal() and int(word) < count:
        return str(int(word))
    named = [
        index for index, uuid in gpu_uuids().items() if word.startswith("GPU-") and uuid.startswith(word)
    ]
    if len(named) == 1:
        return str(named[0])
    if word.startswith("MIG-") and _mig_exists(word):
        return word
    have = f"GPUs 0 to {count - 1}" if count > 1 else "GPU 0 alone" if count else "no GPU"
    raise InputError(
        f"CUDA_VISIBLE_DEVICES={wanted}: {word!r} is not a GPU of this machine, which has {have}: "
        "name those, or unset it to use all"
    )


def _mig_exists(uuid: str) -> bool:
    try:
        pynvml.nvmlDeviceGetHandleByUUID(uuid)
    except pynvml.NVMLError:
        return False
    return True


def _step_gpus(visible: int) -> int:
    """Number of GPUs that Slurm gave this step on a node."""
    given = slurm_number("SLURM_GPUS_ON_NODE")
    if given is None:
        given = slurm_gpus_seen()
    # a single task on the node sees all of its GPUs; if several tasks share a node, each may see only its own
    tasks = re.match(r"\d+", os.environ.get("SLURM_STEP_TASKS_PER_NODE", "1"))
    return visible if visible and tasks and int(tasks[0]) == 1 else given


def slurm_gpus_seen() -> int:
    """Number of GPUs that Slurm shows to this task, even without a driver."""
    words = os.environ.get("CUDA_VISIBLE_DEVICES", "").strip()
    return 0 if words in _NO_DEVICES else len(words.split(","))


def _cpus(in_step: bool) -> int:
    """Number of CPUs that this process may use. If Slurm binds none, only its variable tells how many it gave."""
    allowed = len(os.sched_getaffinity(0))
    given = slurm_number("SLURM_CPUS_ON_NODE") if in_step else None
    return min(allowed, given) if given else allowed


def slurm_number(variable: str) -> int | None:
    """The number that a variable of Slurm holds; null if it is not set. Raises InputError if it is not a number."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return None
    if not text.isdecimal():
        raise InputError(
            f"{variable}={text}: Slurm sets a number there; unset it, or start the step with srun again"
        )
    return int(text)
