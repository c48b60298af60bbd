"""bench batch: Print a batch script for Slurm."""

from __future__ import annotations

from typing import Any

import click

from bench.cli import _complete
from bench.cli._options import given, python_option, suite_options
from bench.cli._suite_argument import folders_read, resolve

_OF_SLURM = ("nodes", "gpus_per_node", "cpus_per_task", "time", "account", "partition", "sbatch")
_NOT_IN_THE_STEP = (*_OF_SLURM, "images", "rounds", "session", "results")
_MOST_IMAGES = 2


@click.command(name="batch")
@click.argument("suite", metavar="NAME|FILE", shell_complete=_complete.suites)
@click.option(
    "--image", "images", metavar="SIF", multiple=True,
    help="Path of the Apptainer image on the cluster's nodes. Give two to measure them in turn and compare them."
    "  [default: the image that this command runs in, then bench.sif]",
)  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(min=2, max=1_000), metavar="N",
    help="With two images: sessions per image, each with one repeat unless --repeats is given.  [default: 5]",
)  # fmt: skip
@click.option(
    "--nodes", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Number of nodes."
)
@click.option("--gpus-per-node", type=click.IntRange(min=0), metavar="M", help="GPUs per node.")
@click.option(
    "--cpus-per-task",
    type=click.IntRange(min=1),
    metavar="C",
    help="CPUs per node, for all its ranks; many clusters give one by default.",
)
@click.option("--time", metavar="T", help="Time limit in Slurm's notation: minutes, 1:30:00 or 1-12.")
@click.option("--account", metavar="A", help="Slurm account.")
@click.option("--partition", metavar="P", help="Slurm partition.")
@click.option(
    "--sbatch", metavar="LINE", multiple=True,
    help="Another option for sbatch, as in --sbatch --constraint=h200; repeatable.",
)  # fmt: skip
@suite_options
@python_option
@click.pass_context
def command(context: click.Context, /, suite: str, **options: Any) -> None:
    """Print a batch script that runs the suite NAME, or the YAML file FILE; submit it with sbatch.

    The script needs only srun and apptainer on the cluster. Submitted again, it resumes its session. With two images it
    alternates between them in one allocation, then compares them; the first is the baseline."""
    from bench.agent.other_python import examine
    from bench.common.errors import InputError
    from bench.common.paths import results_folder
    from bench.common.tags import check_tags
    from bench.machine.container import apptainer_image
    from bench.session.folder import SessionFolder, new_session_id
    from bench.slurm.apptainer import is_here
    from bench.slurm.batch import DEFAULT_ROUNDS, Batch, script

    options["images"] = options["images"] or (apptainer_image() or "bench.sif",)
    _check(options)
    name = resolve(suite, options).name
    results = results_folder(options["results"])
    session = SessionFolder(
        results, new_session_id(name) if options["session"] is None else options["session"]
    )
    step = given(context, without=_NOT_IN_THE_STEP)
    if len(options["images"]) > 1:
        check_tags([f"{session.session_id}-a"])  # the script adds -a to it
        step += [] if options["repeats"] else ["--repeats", "1"]
    check_tags(options["tags"])
    batch = Batch(
        command=("bench", "batch", *given(context)),
        suite_name=name,
        suite=tuple(step),
        session=session.session_id,
        results=str(results),
        folders=tuple(folders_read(suite, options["data_root"])),
        device=options["device"],
        images=options["images"],
        rounds=options["rounds"] or DEFAULT_ROUNDS,
        **{key: options[key] for key in _OF_SLURM},
    )
    click.echo(script(batch), nl=False)
    if options["python"] is not None:
        try:
            examine(options["python"])
        except InputError as error:  # the nodes or the image may have it
            click.echo(f"bench: {error}; the script uses it on the nodes", err=True)
    for image in dict.fromkeys(options["images"]):
        if not is_here(image):
            click.echo(f"bench: {image} does not exist here: check the path in the script", err=True)


def _check(options: dict[str, Any]) -> None:
    from bench.common.errors import InputError

    images = options["images"]
    if len(images) > _MOST_IMAGES:
        raise InputError(f"--image is given {len(images)} times: a comparison has two sides")
    if options["rounds"] and len(images) == 1:
        raise InputError("--rounds needs two images, which are measured in turn: add the other --image")
