"""The Slurm step around this process: its nodes, its tasks, and the index of this task, read from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from bench.common.errors import InputError
from bench.launch.step import Step
from bench.slurm.hostlist import expand

_LARGEST = 100_000
"""Most nodes of a step; far more than any has."""
_SHOWN = 80
"""Most characters of a variable that a message shows."""
_RESERVED = 2**32 - 16
"""Lowest of the step ids that Slurm reserves for shells; srun starts no such steps."""
_COUNT = re.compile(r"([0-9]{1,5})(?:\(x([0-9]{1,5})\))?")


def id_of_srun(environ: Mapping[str, str] = os.environ) -> str | None:
    """Id of the step that srun started around this process; null if there is none.

    A batch shell (step -5 in new versions of Slurm) and a shell of salloc (-6) do not count. Some versions write these
    ids as unsigned, such as 2^32 - 5."""
    step_id = environ.get("SLURM_STEP_ID", "").strip()
    shell = step_id.startswith("-") or (step_id.isdecimal() and int(step_id) >= _RESERVED)
    return step_id if step_id and not shell else None


def step_here(environ: Mapping[str, str] = os.environ) -> Step | None:
    """The step around this process; null if there is none. A batch shell counts as a step of a single task.

    Raises InputError if Slurm's variables are missing or contradict each other."""
    if "SLURM_STEP_ID" not in environ or "SLURM_PROCID" not in environ:
        return None
    job_id, step_id = environ.get("SLURM_JOB_ID", "0"), environ["SLURM_STEP_ID"]
    step = Step(
        launcher="Slurm",
        # a job that Slurm restarts has the same step ids again
        key=f"{job_id}.{step_id}.{_number(environ, 'SLURM_RESTART_COUNT', 0)}",
        node_names=expand(environ.get("SLURM_STEP_NODELIST") or environ.get("SLURMD_NODENAME", "localhost")),
        tasks_per_node=_tasks_per_node(environ.get("SLURM_STEP_TASKS_PER_NODE", "1")),
        task=_number(environ, "SLURM_PROCID", 0),
        local_task=_number(environ, "SLURM_LOCALID", 0),
        node=_number(environ, "SLURM_NODEID", 0),
    )
    _check(step, job_id, step_id)
    return step


def _check(step: Step, job_id: str, step_id: str) -> None:
    names, tasks = step.node_names, step.tasks_per_node
    if not re.fullmatch(r"[0-9.-]+", step.key):
        raise InputError(
            f"SLURM_JOB_ID={job_id[:_SHOWN]} and SLURM_STEP_ID={step_id[:_SHOWN]}: Slurm sets numbers there; start the "
            "step with srun again"
        )
    if len(tasks) != len(names) or step.node >= len(names) or step.task >= step.tasks:
        raise InputError(
            f"SLURM_STEP_NODELIST names {len(names)} nodes, SLURM_STEP_TASKS_PER_NODE={str(tasks)[:_SHOWN]} and "
            f"this is task {step.task} on node {step.node}: start the step with srun again"
        )


def _tasks_per_node(text: str) -> tuple[int, ...]:
    """`4(x2),1` -> 4, 4, 1."""
    found: list[int] = []
    for word in text.split(","):
        match = _COUNT.fullmatch(word.strip())
        if match is None or len(found) > _LARGEST:
            raise InputError(f"SLURM_STEP_TASKS_PER_NODE={text[:_SHOWN]}: Slurm writes it as 4(x2),1")
        found += [int(match[1])] * int(match[2] or 1)
    return tuple(found)


def _number(environ: Mapping[str, str], variable: str, default: int) -> int:
    text = environ.get(variable, "").strip() or str(default)
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise InputError(
            f"{variable}={text[:_SHOWN]}: Slurm sets a number there; start the step with srun again"
        )
    return int(text)
