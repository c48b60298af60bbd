"""Resources that a job asked for and was given: facts for the `environment` table, and warnings if the two differ.

The facts come from a fixed list of the step's variables and, if a batch script stored it, from Slurm's own record of
the job. Nothing that could hold a secret or a person's name is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from bench.records.run_spec import Slots

_TEXTS = {
    "slurm_cluster": "SLURM_CLUSTER_NAME",
    "slurm_job_id": "SLURM_JOB_ID",
    "slurm_job_name": "SLURM_JOB_NAME",
    "slurm_partition": "SLURM_JOB_PARTITION",
    "slurm_qos": "SLURM_JOB_QOS",
    "slurm_nodes": "SLURM_JOB_NUM_NODES",
    "slurm_node_list": "SLURM_JOB_NODELIST",
    "slurm_restarts": "SLURM_RESTART_COUNT",
    "slurm_exclusive": "SLURM_JOB_EXCLUSIVE",
    "slurm_step_id": "SLURM_STEP_ID",
    "slurm_step_nodes": "SLURM_STEP_NUM_NODES",
    "slurm_step_node_list": "SLURM_STEP_NODELIST",
    "slurm_step_tasks": "SLURM_STEP_NUM_TASKS",
    "slurm_step_tasks_per_node": "SLURM_STEP_TASKS_PER_NODE",
    "slurm_gpus_requested": "SLURM_GPUS",
    "slurm_gpus_per_node_requested": "SLURM_GPUS_PER_NODE",
    "slurm_gpus_per_task_requested": "SLURM_GPUS_PER_TASK",
    "slurm_tres_per_task": "SLURM_TRES_PER_TASK",
    "slurm_gpus_on_node": "SLURM_GPUS_ON_NODE",
    "slurm_gpu_ids": "SLURM_STEP_GPUS",
    "slurm_cpus_per_task_requested": "SLURM_CPUS_PER_TASK",
    "slurm_cpus_on_node": "SLURM_CPUS_ON_NODE",
}
_MEBIBYTES = {
    "slurm_memory_per_node_bytes": "SLURM_MEM_PER_NODE",
    "slurm_memory_per_cpu_bytes": "SLURM_MEM_PER_CPU",
    "slurm_memory_per_gpu_bytes": "SLURM_MEM_PER_GPU",
}
_TIMES = {"slurm_started_at": "SLURM_JOB_START_TIME", "slurm_ends_at": "SLURM_JOB_END_TIME"}
_YEAR_2100_S = 4_102_444_800
"""A time from here on is not a real one."""


def facts(environ: Mapping[str, str], job: Mapping[str, str] | None = None) -> dict[str, str]:
    """Facts of the step as this task sees it; empty outside of a job. `job` has the facts of job.read_job()."""
    if "SLURM_JOB_ID" not in environ:
        return {}
    found = {key: environ[name] for key, name in _TEXTS.items() if environ.get(name)}
    for key, name in _MEBIBYTES.items():
        if (mebibytes := environ.get(name, "")).isdecimal():
            found[key] = str(int(mebibytes) * 2**20)
    seconds = {key: int(environ[name]) for key, name in _TIMES.items() if environ.get(name, "").isdecimal()}
    found |= {
        key: datetime.fromtimestamp(value, UTC).isoformat()
        for key, value in seconds.items()
        if value < _YEAR_2100_S
    }
    if len(seconds) == len(_TIMES):
        found["slurm_time_limit_s"] = str(seconds["slurm_ends_at"] - seconds["slurm_started_at"])
    return dict(sorted({**(job or {}), **found}.items()))


def mismatches(found: Mapping[str, str], slots: Slots, gpus: int | None = None) -> list[str]:
    """Differences between what the job asked for and what the step can use, each a sentence with a remedy.

    `found` is the facts of any task, `slots` the slots of all tasks of the step together, and `gpus` the number of GPUs
    that Slurm gave on all nodes; if it is null, each node is taken to have as many as this one.
    """
    judged = (_nodes(found, slots), _gpus(found, slots, gpus), _gpus_seen(found, slots), _cpus(found, slots))
    return [sentence for sentence in judged if sentence]


def _nodes(found: Mapping[str, str], slots: Slots) -> str | None:
    given = _count(found.get("slurm_nodes"))
    if given <= slots.nodes:
        return None
    return (
        f"the job has {_counted(given, 'node')} (SLURM_JOB_NUM_NODES), this step runs on {slots.nodes}: "
        f"start it with `srun --nodes={given}` to use them all"
    )


def _gpus(found: Mapping[str, str], slots: Slots, gpus: int | None) -> str | None:
    asked, variable = _gpus_asked(found)
    given = _count(found.get("slurm_gpus_on_node")) or slots.cuda_devices_per_node
    if asked <= (gpus or given * slots.nodes):
        return None
    return (
        f"asked for {_counted(asked, 'GPU')} ({variable}), this node was given {given} and the step runs on "
        f"{_counted(slots.nodes, 'node')}: ask with --nodes and --gpus-per-node, which fix the shape"
    )


def _gpus_asked(found: Mapping[str, str]) -> tuple[int, str]:
    """The number of GPUs asked for, over the whole step, and the name of the variable that holds it."""
    nodes = _count(found.get("slurm_step_nodes")) or 1
    tasks = _count(found.get("slurm_step_tasks")) or 1
    asked = (
        (_count(found.get("slurm_gpus_requested")), "SLURM_GPUS"),
        (_count(found.get("slurm_gpus_per_node_requested")) * nodes, "SLURM_GPUS_PER_NODE"),
        (_count(found.get("slurm_gpus_per_task_requested")) * tasks, "SLURM_GPUS_PER_TASK"),
        (_count_tres(found.get("slurm_tres_per_task")) * tasks, "TresPerTask"),
        (_count_tres(found.get("slurm_tres_per_node")) * nodes, "TresPerNode"),
        (_count_tres(found.get("slurm_tres_per_job")), "TresPerJob"),
    )
    return max(asked, key=lambda pair: pair[0])


def _gpus_seen(found: Mapping[str, str], slots: Slots) -> str | None:
    """A sentence if CUDA sees fewer GPUs than Slurm gave; null if it sees none: hidden_gpus.gpus_left_out says why."""
    given = _count(found.get("slurm_gpus_on_node"))
    if not 0 < slots.cuda_devices_per_node < given:
        return None
    return (
        f"Slurm gave {_counted(given, 'GPU')} on a node (SLURM_GPUS_ON_NODE), CUDA sees {slots.cuda_devices_per_node}: "
        "give all of them to one task per node (--ntasks-per-node=1), or start one task per GPU, with --gpus-per-node "
        "and without --gpus-per-task, which hides a task's GPUs from the others"
    )


def _cpus(found: Mapping[str, str], slots: Slots) -> str | None:
    """A sentence if a node's single task may use fewer CPUs than Slurm gave; several tasks split the CPUs."""
    given = _count(found.get("slurm_cpus_on_node"))
    if _count(found.get("slurm_step_tasks")) != slots.nodes or given <= slots.cpus_per_node:
        return None
    asked = _count(found.get("slurm_cpus_per_task_requested"))
    few = asked > slots.cpus_per_node
    return (
        f"Slurm gave {_counted(given, 'CPU')} on a node (SLURM_CPUS_ON_NODE), the step's task may use "
        f"{slots.cpus_per_node}: "
        + (fewer_than_asked(asked) if few else f"start it with `srun --cpus-per-task={given}`")
    )


def fewer_than_asked(cpus: int) -> str:
    """Explain why a task may use fewer CPUs than SLURM_CPUS_PER_TASK says.

    Slurm passes a batch job's variable on to a step, but not the option behind it."""
    return (
        f"fewer CPUs than asked for (SLURM_CPUS_PER_TASK={cpus}): the node's cpuset is smaller, ask the cluster's "
        "staff; or the option was given to sbatch only, and srun needs it, too"
    )


def _count(text: str | None) -> int:
    """`8`, `h200:8` or `a100:4,h200:4` -> 8; 0 without a number."""
    numbers = (re.search(r"(?:^|:)(\d+)$", word.strip()) for word in (text or "").split(","))
    return sum(int(number[1]) for number in numbers if number)


def _count_tres(text: str | None) -> int:
    """`cpu=2,gres/gpu:h200:4` -> 4."""
    return sum(
        int(number) for number in re.findall(r"gres[/:]gpu(?::[^,:=]*[^,:=\d][^,:=]*)?[:=](\d+)", text or "")
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
