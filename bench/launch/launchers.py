"""The launchers, as one table: in which variables each tells a task its index, the number of tasks and their launch.

A launcher needs to tell no more. The tasks learn from each other on which nodes they are (bench/launch/roll_call.py).
Slurm tells that, too, and has a reader of its own (bench/slurm/step.py).
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from bench.common.errors import InputError
from bench.common.system_files import text_of

LOCAL = "--launcher local runs on this machine alone"
"""Remedy for a process that only looks like a task of several."""
_LARGEST = 100_000
"""Most tasks of a step; far more than any has."""
_SHOWN = 80
"""Most characters of a variable that a message shows."""
_LONGEST = 100
"""Most characters of a key, which becomes part of a file's name."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task, as its launcher's variables describe it."""

    launcher: str
    key: str
    """Unique name of the launch, the same for all of its tasks; usable as a file name. Empty for a single task."""
    task: int
    tasks: int


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """One row of the table."""

    name: str
    """As messages call it."""
    task: str
    """Variable with the index of the task."""
    first: int = 0
    """Index of its first task."""
    tasks: str | None
    """Variable with the number of tasks; null if it has none, and the user sets BENCH_TASKS."""
    only_with: tuple[str, str] = ("", "")
    """Variable that distinguishes it from other launchers with the same `task`, and the beginning of its value."""
    launch: Callable[[Mapping[str, str]], str | None]
    """A name that no other launch has at the same time; null if this one has none."""


def _variables(*names: str) -> Callable[[Mapping[str, str]], str | None]:
    """The values of those variables that are set."""
    return lambda environ: "-".join(environ[name] for name in names if environ.get(name)) or None


def _torchrun(environ: Mapping[str, str]) -> str:
    """Its run id is `none` unless it is given: address and port of its store are unique at any time. If the address is
    this machine's loopback, all tasks are here."""
    names = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT")
    words = [environ[name] for name in names if environ.get(name)]
    if re.match(r"127\.|localhost$|::1$", environ.get("MASTER_ADDR", "")):
        words.append(socket.gethostname())
    return "-".join(words)


def _hydra(_environ: Mapping[str, str]) -> str | None:
    """Hydra sets no variable for it, but starts every task below a proxy that is told where mpiexec listens."""
    pid = os.getppid()
    while pid > 1:
        words = text_of(f"/proc/{pid}/cmdline").split("\0")
        status = text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if len(status) < 2 or not status[1].isdecimal():
            return None
        given = dict(pairwise(words))
        if "--control-port" in given:
            return given["--control-port"]
        if "--upstream-host" in given:  # Intel MPI
            return f"{given['--upstream-host']}:{given.get('--upstream-port', '')}"
        pid = int(status[1])
    return None


def _pod(_environ: Mapping[str, str]) -> str:
    """The name of the job: that of the pod without its role and index."""
    return re.sub(r"(-(master|worker))?-[0-9]+$", "", socket.gethostname())


BEFORE_SLURM = (
    Launcher(name="BENCH_TASK", task="BENCH_TASK", tasks="BENCH_TASKS", launch=_variables("BENCH_LAUNCH")),
    Launcher(name="torchrun", task="RANK", tasks="WORLD_SIZE", only_with=("TORCHELASTIC_RUN_ID", ""), launch=_torchrun),
    Launcher(
        name="Open MPI", task="OMPI_COMM_WORLD_RANK", tasks="OMPI_COMM_WORLD_SIZE",
        launch=_variables("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"),
    ),
    Launcher(
        name="Flux", task="FLUX_TASK_RANK", tasks="FLUX_JOB_SIZE", launch=_variables("FLUX_JOB_ID")
    ),
    Launcher(
        name="jsrun", task="JSM_NAMESPACE_RANK", tasks="JSM_NAMESPACE_SIZE", launch=_variables("PMIX_NAMESPACE")
    ),
    Launcher(name="PALS", task="PALS_RANKID", tasks="PMI_SIZE", launch=_variables("PALS_APID")),
    Launcher(name="MPICH", task="PMI_RANK", tasks="PMI_SIZE", only_with=("MPI_LOCALRANKID", ""), launch=_hydra),
    Launcher(
        name="PMIx", task="PMIX_RANK", tasks=None, only_with=("PMIX_NAMESPACE", "prte"),  # PRRTE's prun
        launch=_variables("PMIX_NAMESPACE"),
    ),
)  # fmt: skip
"""Their variables also exist in a step of Slurm that they have started, or in which they were called."""

AFTER_SLURM = (
    Launcher(name="ALPS", task="ALPS_APP_PE", tasks=None, launch=_variables("ALPS_APP_ID")),
    Launcher(name="PMI", task="PMI_RANK", tasks="PMI_SIZE", launch=_variables("PMI_KVSNAME", "PMI_JOBID")),
    Launcher(name="PMIx", task="PMIX_RANK", tasks=None, launch=_variables("PMIX_NAMESPACE")),
    Launcher(name="blaunch", task="LSF_PM_TASKID", first=1, tasks="LSB_DJOB_NUMPROC", launch=lambda _: None),
    Launcher(name="Kubeflow", task="PET_NODE_RANK", tasks="PET_NNODES", launch=_pod),
    Launcher(
        name="Kubernetes", task="RANK", tasks="WORLD_SIZE", only_with=("KUBERNETES_SERVICE_HOST", ""), launch=_pod
    ),
    Launcher(name="Kubernetes", task="JOB_COMPLETION_INDEX", tasks=None, launch=_pod),
)  # fmt: skip
"""srun sets some of these variables, too, and its own tell more."""

_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID")
"""Variables with a scheduler's id of the job; the last is Grid Engine's."""


def task_here(
    launchers: tuple[Launcher, ...], session: str | None, environ: Mapping[str, str]
) -> Task | None:
    """The task that the first of these launchers has made of this process; null if none has.

    `session` is the user's --session, which makes the launch unique if the launcher does not. Raises InputError if the
    variables are wrong or contradict each other."""
    for launcher in launchers:
        variable, beginning = launcher.only_with
        found = not variable or (environ.get(variable, "").startswith(beginning) and variable in environ)
        if found and environ.get(launcher.task, "").strip():
            return _read(launcher, session, environ)
    return None


def _read(launcher: Launcher, session: str | None, environ: Mapping[str, str]) -> Task:
    task = _number(launcher, launcher.task, environ) - launcher.first
    size = "BENCH_TASKS" if launcher.tasks is None or environ.get("BENCH_TASKS") else launcher.tasks
    if not environ.get(size, "").strip():
        raise InputError(
            f"{launcher.task} is set and {size} is not: set {size} to the number of tasks, the same for each; {LOCAL}"
        )
    tasks = _number(launcher, size, environ)
    if not 0 <= task < tasks:
        last = tasks - 1 + launcher.first
        raise InputError(
            f"{launcher.task}={environ[launcher.task][:_SHOWN]} and {size}={tasks}: the tasks are "
            f"{launcher.first} to {last}; correct the two, or start the tasks again; {LOCAL}"
        )
    key = "" if tasks == 1 else _key(launcher, session, environ)
    return Task(launcher=launcher.name, key=key, task=task, tasks=tasks)


def _number(launcher: Launcher, variable: str, environ: Mapping[str, str]) -> int:
    text = environ[variable].strip()
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) > _LARGEST:
        raise InputError(
            f"{variable}={text[:_SHOWN]}: {launcher.name} sets a number up to {_LARGEST} there; start the tasks "
            f"again; {LOCAL}"
        )
    return int(text)


def _key(launcher: Launcher, session: str | None, environ: Mapping[str, str]) -> str:
    launch = environ.get("BENCH_LAUNCH") or launcher.launch(environ)
    if launch is None:
        words = [*(environ[name] for name in _JOBS if environ.get(name)), *([session] if session else [])]
        if not words:
            raise InputError(
                f"{launcher.name} does not tell its tasks which launch they belong to: give all of them the same "
                f"--session NAME, or set BENCH_LAUNCH to a name of this launch; {LOCAL}"
            )
        launch = "-".join(words)
    plain = re.sub(r"[^\w.-]+", "-", f"{launcher.name}-{launch}", flags=re.ASCII)
    # the digest distinguishes launches whose plain names are equal
    return f"{plain[:_LONGEST]}-{sha256(launch.encode()).hexdigest()[:8]}"
