"""bench script"""

from __future__ import annotations

from typing import Any

import click

from bench.cli._suite_options import folders_read, given, resolve, suite_options

_OF_SLURM = ("nodes", "gpus_per_node", "cpus_per_task", "time", "account", "partition", "sbatch")
_NOT_IN_THE_STEP = (*_OF_SLURM, "images", "rounds", "session", "results")
_MOST_IMAGES = 2


@click.command(name="script", short_help="Print a batch script for Slurm.")
@click.argument("suite", metavar="NAME|FILE")
@click.option(
    "--image", "images", metavar="SIF", required=True, multiple=True,
    help="The Apptainer image, as the cluster's nodes see it; given twice, the two are measured in turn and compared.",
)  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(min=2, max=1_000), metavar="N",
    help="With two images: sessions of each, with one repeat unless --repeats says more; 5 unless said.",
)  # fmt: skip
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

    It needs srun and apptainer on the cluster, and nothing else. Submitted again it resumes its session. With two
    images it alternates between them within one allocation, and ends with their comparison: the first is the
    baseline."""
    from bench.launch.session import SessionFolder, new_session_id
    from bench.paths import results_folder
    from bench.slurm.apptainer import is_here
    from bench.slurm.batch import DEFAULT_ROUNDS, Batch, script
    from bench.tags import check_tags

    _check(options)
    name = resolve(suite, options).name
    results = results_folder(options["results"])
    session = SessionFolder(
        results, new_session_id(name) if options["session"] is None else options["session"]
    )
    step = given(context, without=_NOT_IN_THE_STEP)
    if len(options["images"]) > 1:
        check_tags([f"{session.session_id}-a"])  # which the script makes of it
        step += [] if options["repeats"] else ["--repeats", "1"]
    check_tags(options["tags"])
    batch = Batch(
        command=("bench", "script", *given(context)),
        suite_name=name,
        suite=tuple(step),
        session=session.session_id,
        results=str(results),
        folders=tuple(folders_read(suite, options["data_root"])),
        images=options["images"],
        rounds=options["rounds"] or DEFAULT_ROUNDS,
        device=options["device"],
        **{key: options[key] for key in _OF_SLURM},
    )
    click.echo(script(batch), nl=False)
    for image in dict.fromkeys(batch.images):
        if not is_here(image):
            click.echo(f"bench: there is no {image} here: check the path in the script", err=True)


def _check(options: dict[str, Any]) -> None:
    from bench.errors import InputError

    images = options["images"]
    if len(images) > _MOST_IMAGES:
        raise InputError(f"--image is given {len(images)} times: a comparison has two sides")
    if options["rounds"] and len(images) == 1:
        raise InputError("--rounds: only with two images, which are measured in turn; add the other --image")
