"""--launcher srun: start the same `bench suite` or `bench run` as a Slurm step, from a login node or a batch shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from bench.common import safe_path
from bench.common.errors import InputError
from bench.machine.container import apptainer_image
from bench.slurm import apptainer
from bench.slurm.step import id_of_srun, step_here

_ASKS_FOR_GPUS = re.compile(r"-G|--gpus\b|--gres=gpu|--tres-per-task=.*gres[:/]gpu")
_JOB_GPUS = ("SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_ON_NODE")
_OUTLIVE_A_TASK = ("--kill-on-bad-exit=0", "--wait=0")
"""Override a cluster's defaults: if one agent dies, srun must neither end the others nor limit their time."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Options for srun, and the command that runs in the step."""

    words: tuple[str, ...]
    """Arguments of `bench` in the step, as in `suite smoke --quick`, without --results."""
    command: tuple[str, ...] = ()
    """The command of `bench run`."""
    results: str
    """Absolute path of the results folder."""
    folders: tuple[str, ...] = ()
    """Absolute paths of further folders to bind into the container."""
    device: str | None = None
    """--device of the session; null leaves the choice to the suite."""
    image: str | None = None
    """Apptainer image; null runs this installation."""
    nodes: int | None = None
    gpus_per_node: int | None = None
    srun: tuple[str, ...] = ()
    """Further options of srun. They come after ours, so they override them."""


def argv(launch: Launch, environ: Mapping[str, str]) -> list[str]:
    """The command line to execute. `environ` has the variables of the job around this process, if there is one."""
    shape = []
    if launch.nodes is not None:
        # all three: otherwise srun takes --ntasks from the job's environment
        shape += [f"--nodes={launch.nodes}", f"--ntasks={launch.nodes}", "--ntasks-per-node=1"]
    if launch.gpus_per_node is not None:
        shape += [f"--gpus-per-node={launch.gpus_per_node}"]
    bench = safe_path.command("bench")
    if launch.image is not None:
        image = apptainer.check_image(launch.image)
        folders = tuple(
            apptainer.check_folder("folder", folder) for folder in (launch.results, *launch.folders)
        )
        gpus = launch.device != "cpu" and _with_gpus(launch, environ)
        bench = [*apptainer.execute(image, gpus=gpus, folders=folders), "bench"]
    return [
        "srun",
        *_OUTLIVE_A_TASK,
        *shape,
        *map(_checked, launch.srun),
        *bench,
        *launch.words,
        "--results",
        launch.results,
        "--launcher",
        "auto",
        *(("--", *launch.command) if launch.command else ()),
    ]


def line(launch: Launch, environ: Mapping[str, str]) -> str:
    """The same command line for a shell."""
    # a folder must exist before it can be bound
    before = f"mkdir -p {shlex.quote(launch.results)} && " if launch.image is not None else ""
    return before + shlex.join(argv(launch, environ))


def _checked(argument: str) -> str:
    if not argument.startswith("-"):
        raise InputError(
            f"--srun {argument}: not an option of srun, which would take it for the program to start"
        )
    return argument


def _with_gpus(launch: Launch, environ: Mapping[str, str]) -> bool:
    asked = launch.gpus_per_node or any(_ASKS_FOR_GPUS.match(argument) for argument in launch.srun)
    return bool(asked) or any(environ.get(name, "0") not in ("", "0") for name in _JOB_GPUS)


def become(launch: Launch) -> NoReturn:
    """Replace this process by srun. Raises InputError if that is not possible."""
    step_id = id_of_srun()
    if step_id is not None and step_here() is not None:
        raise InputError(
            f"--launcher srun inside a step ({os.environ.get('SLURM_JOB_ID', '0')}.{step_id}): its tasks are started "
            "already, leave --launcher out"
        )
    command = argv(launch, os.environ)
    if shutil.which("srun") is None:
        raise InputError(_no_srun(launch))
    if launch.image is not None and not Path(launch.image).exists():
        raise InputError(f"--image {launch.image}: there is no such file; `ls` it, or build it first")
    Path(launch.results).mkdir(parents=True, exist_ok=True)
    own = launch.image is None
    environment = safe_path.environment() if own else safe_path.environment_of_an_image()
    environment["PWD"] = str(Path.cwd())  # Apptainer uses it, and cannot resolve a link to the folder
    sys.stderr.write(f"{shlex.join(command)}\n")
    sys.stderr.flush()
    os.execvpe(command[0], command, environment)  # noqa: S606 - no shell is wanted


def _no_srun(launch: Launch) -> str:
    image = apptainer_image()
    if image is None:
        return "--launcher srun: srun is not on PATH: call it on a login node of the cluster, or leave --launcher out"
    command = line(replace(launch, image=launch.image or image), os.environ)
    return (
        "--launcher srun: srun is not on PATH, since this is inside a container: srun is called on the host, and "
        f"starts the container on every node. Type there:\n  {command}"
    )
