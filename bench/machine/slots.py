"""Slots: the number of ranks that each node of this machine, or of this Slurm step, can host."""

from __future__ import annotations

import os
import re

from bench.common.errors import InputError
from bench.machine import gpu_vendor, gpus
from bench.machine.cpus import cores, near_gpus
from bench.records.run_spec import Slots
from bench.records.vocabulary import DeviceType


def detect(ranks_per_node: int | None = None) -> Slots:
    """Slots of this machine or step; `ranks_per_node` overrides their number.

    Raises InputError if CUDA_VISIBLE_DEVICES or a variable of Slurm is wrong."""
    in_step = "SLURM_STEP_ID" in os.environ
    seen = gpus.visible()
    visible = len(seen)
    given = _step_gpus(visible) if in_step else 0
    usable = (given or visible) if visible else 0
    by_hand = ranks_per_node or given
    cpus = _cpus(in_step)
    near = near_gpus(cores(os.sched_getaffinity(0)), seen)
    return Slots(
        nodes=slurm_number("SLURM_STEP_NUM_NODES") or 1 if in_step else 1,
        slots_per_node=by_hand or usable or cpus,
        cpus_per_node=cpus,
        device_type="cuda" if usable else "cpu",
        cuda_devices_per_node=usable,
        cpus_per_gpu=min(map(len, near), default=0),
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
    ranks = slots_per_node(slots, device_type, None)
    if device_type == "cuda" and slots.cpus_per_gpu and ranks <= slots.cuda_devices_per_node:
        return slots.cpus_per_gpu
    return max(1, slots.cpus_per_node // max(1, ranks))


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
    words = (gpu_vendor.visible_devices() or "").strip()
    return 0 if words in gpu_vendor.NO_DEVICES else len(words.split(","))


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
