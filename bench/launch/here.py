"""The step around this process, read from any launcher."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Set
from pathlib import Path

from bench.launch.launchers import AFTER_SLURM, BEFORE_SLURM, Task, task_here
from bench.launch.roll_call import roll_call
from bench.launch.step import Step
from bench.slurm.step import step_here as slurm_step


def found_here(session: str | None, environ: Mapping[str, str] = os.environ) -> Step | Task | None:
    """Slurm's step, or a task of another launcher; null if no launcher has started this process.

    Raises InputError if the variables are wrong."""
    return (
        task_here(BEFORE_SLURM, session, environ)
        or slurm_step(environ)
        or task_here(AFTER_SLURM, session, environ)
    )


def step_of(found: Step | Task | None, results: Path) -> Step | None:
    """The step of what was found; null for a single task, which has no one to meet. Waits for the other tasks.

    Raises InputError if some do not come."""
    if not isinstance(found, Task):
        return found
    step = roll_call(found, results) if found.tasks > 1 else None
    if found.task == 0:
        _warn_of_binding(found, os.sched_getaffinity(0) if step is None else step.cpus_of_node)
    return step


def _warn_of_binding(found: Task, cpus: Set[int]) -> None:
    """Warn if the launcher has bound its tasks to few of the CPUs that it has itself: Open MPI binds to one core."""
    available = os.sched_getaffinity(os.getppid())
    if cpus < available:
        sys.stderr.write(
            f"bench: {found.launcher} lets its tasks use {len(cpus)} of the {len(available)} CPUs here: start them "
            "unbound to use all CPUs (Open MPI: --bind-to none)\n"
        )
