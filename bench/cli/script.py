"""bench script"""

from __future__ import annotations

from typing import Any

import click

from bench.cli._suite_options import folders_read, given, resolve, suite_options

_NOT_IN_THE_STEP = (
    "image", "nodes", "gpus_per_node", "cpus_per_task", "time", "account", "partition", "sbatch", "session", "results",
)  # fmt: skip


@click.command(name="script", short_help="Print a batch script for Slurm.")
@click.argument("suite", metavar="NAME|FILE")
@click.option(
    "--image", metavar="SIF", required=True, help="The Apptainer image, as the cluster's nodes see it."
)
@click.option("--nodes", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Nodes.")
@click.option("--gpus-per-node", type=click.IntRange(min=0), metavar="M", help="GPUs of each node.")
@click.option(
    "--cpus-per-task",
    type=click.IntRange(min=1),
    metavar="C",
    help="CPUs of each node, for all of its ranks; many clusters give one where nothing is said.",
)
@click.option("--time", metavar="T", help="Time limit as Slurm writes it: minutes, 1:30:00 or 1-12.")
@click.option("--account", metavar="A", help="The account that pays.")
@click.option("--partition", metavar="P", help="The partition to run in.")
@click.option(
    "--sbatch", metavar="LINE", multiple=True,
    help="A further option of sbatch, as in --sbatch --constraint=h200; repeatable.",
)  # fmt: skip
@suite_options
@click.pass_context
def command(context: click.Context, /, suite: str, **options: Any) -> None:
    """Print a Slurm batch script that runs the suite NAME, or the YAML file FILE, for sbatch to read.

    It needs srun and apptainer on the cluster, and nothing else. Submitted again it resumes its session."""
    from bench.launch.session import SessionFolder, new_session_id
    from bench.paths import results_folder
    from bench.slurm.apptainer import is_here
    from bench.slurm.batch import Batch, script

    name = resolve(suite, options).name
    results = results_folder(options["results"])
    session = SessionFolder(results, options["session"] or new_session_id(name))
    slurm = (
        "nodes",
        "gpus_per_node",
        "cpus_per_task",
        "time",
        "account",
        "partition",
        "sbatch",
        "image",
        "device",
    )
    batch = Batch(
        command=("bench", "script", *given(context)),
        suite_name=name,
        suite=tuple(given(context, without=_NOT_IN_THE_STEP)),
        session=session.session_id,
        results=str(results),
        folders=tuple(folders_read(suite, options["data_root"])),
        **{key: options[key] for key in slurm},
    )
    click.echo(script(batch), nl=False)
    if not is_here(batch.image):
        click.echo(f"bench: there is no {batch.image} here: check the path in the script", err=True)
