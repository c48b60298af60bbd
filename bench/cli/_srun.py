"""--launcher srun of `bench suite` and `bench run`: build srun's command line from the call's options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bench.cli._options import given

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


def step_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator with --launcher and the options of a new Slurm step."""
    for option in reversed((
        click.option(
            "--launcher", type=click.Choice(["auto", "local", "srun"]), default="auto", show_default=True,
            help="auto: all tasks that a launcher such as srun or mpiexec has started; without a launcher, this"
            " machine; local: this machine only; srun: start a new step, or print its command line with --dry-run.",
        ),
        click.option(
            "--image", metavar="SIF",
            help="With --launcher srun: Apptainer image to run.  [default: this installation]",
        ),
        click.option("--nodes", type=click.IntRange(min=1), metavar="N", help="With --launcher srun: number of nodes."),
        click.option(
            "--gpus-per-node", type=click.IntRange(min=0), metavar="M", help="With --launcher srun: GPUs per node."
        ),
        click.option(
            "--srun", metavar="ARG", multiple=True, help="With --launcher srun: another option for srun; repeatable."
        ),
    )):  # fmt: skip
        command = option(command)
    return command


def through_srun(
    context: click.Context,
    step: Mapping[str, Any],
    folders: Iterable[str],
    words: Sequence[str] = (),
    *,
    dry_run: bool,
) -> int:
    """Replace this process with srun, or print its command line. `folders`: those that the session reads; `words`: the
    command that it measures, if there is one."""
    import os

    from bench.common.paths import results_folder
    from bench.slurm.srun import Launch, become, line

    call = context.params
    launch = Launch(
        words=(
            context.info_name or "",
            *given(context, without=(*_OPTIONS, "launcher", "dry_run", "results", "words")),
        ),
        command=tuple(words),
        results=str(results_folder(call["results"]).absolute()),
        folders=tuple(str(Path(folder).absolute()) for folder in folders),
        device=call["device"],
        **step,
    )
    if dry_run:
        click.echo(line(launch, os.environ))
        return 0
    return become(launch)
