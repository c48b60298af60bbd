"""`bench suite --launcher srun`: build srun's command line from the call's options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bench.cli._options import folders_read, given, resolve

_OPTIONS = ("image", "nodes", "gpus_per_node", "srun")


def take_step_options(options: dict[str, Any], launcher: str) -> dict[str, Any]:
    """Remove the options of a new Slurm step from `options` and return them.

    Raises InputError if one is given without --launcher srun."""
    from bench.common.errors import InputError

    step = {name: options.pop(name) for name in _OPTIONS}
    wished = [f"--{name.replace('_', '-')}" for name, value in step.items() if value not in (None, ())]
    if wished and launcher != "srun":
        raise InputError(f"{', '.join(wished)}: needs --launcher srun, which starts a step: add it")
    return step


def through_srun(context: click.Context, step: dict[str, Any], *, dry_run: bool) -> int:
    """Replace this process with srun, or print srun's command line."""
    import os

    from bench.common.errors import InputError
    from bench.common.paths import results_folder
    from bench.slurm.srun import Launch, become, line

    call = context.params
    if call["suite"] is not None:
        resolve(call["suite"], call)  # report mistakes now, not after the job has waited in the queue
    elif call["resume"] is None:
        raise InputError("name a suite, or a session with --resume; `bench list` shows the suites")
    folders = folders_read(call["suite"], call["data_root"])
    launch = Launch(
        suite=tuple(given(context, without=(*_OPTIONS, "launcher", "dry_run", "results"))),
        results=str(results_folder(call["results"]).absolute()),
        folders=tuple(str(Path(folder).absolute()) for folder in folders),
        device=call["device"],
        **step,
    )
    if dry_run:
        click.echo(line(launch, os.environ))
        return 0
    return become(launch)
