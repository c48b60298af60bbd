"""bench suite"""

from __future__ import annotations

import json
from typing import Any

import click

from bench.cli._finite import Finite
from bench.cli._suite_options import suite_options


@click.command(name="suite", short_help="Run a suite and show how it scales.")
@click.argument("suite", metavar="NAME|FILE", required=False)
@suite_options
@click.option(
    "--reserve", type=Finite(min=0), metavar="SECONDS",
    help="Time before the end of a Slurm allocation that no run may need; 30 unless said.",
)  # fmt: skip
@click.option("--resume", metavar="SESSION", help="Finish an earlier session; what is done stays done.")
@click.option("--no-load", is_flag=True, help="Leave the database alone.")
@click.option("--dry-run", is_flag=True, help="Print the plan with its estimate; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of tables, at the end or of --dry-run.")
@click.option(
    "--launcher", type=click.Choice(["auto", "local", "srun"]), default="auto", show_default=True,
    help="auto: the Slurm step around it, else this machine; local: this machine, even in a step; srun: a new step."
    " --dry-run then prints the command line.",
)  # fmt: skip
@click.option(
    "--image", metavar="SIF", help="With --launcher srun: the Apptainer image to run; else this very bench."
)
@click.option(
    "--nodes", type=click.IntRange(min=1), metavar="N", help="With --launcher srun: nodes of the step."
)
@click.option(
    "--gpus-per-node", type=click.IntRange(min=0), metavar="M", help="With --launcher srun: GPUs of each node."
)  # fmt: skip
@click.option(
    "--srun", metavar="ARG", multiple=True, help="With --launcher srun: a further option of srun; repeatable."
)
@click.pass_context
def command(
    context: click.Context, /, dry_run: bool, no_load: bool, as_json: bool, launcher: str, **options: Any
) -> int:
    """Run the suite NAME, or the YAML file FILE, on what this machine has; then show how it scales.

    Exit code 1 where a run failed; 130 or 143 where the session was stopped: --resume finishes it."""
    from bench.cli._closing import check_own_rules, close, prepare
    from bench.cli._srun import step_options, through_srun
    from bench.cli._streams import outlive_readers

    step = step_options(options, launcher)
    if launcher == "srun":
        return through_srun(context, step, dry_run=dry_run)
    from bench.launch.request import Request
    from bench.launch.stop import raise_when_told

    request = Request(launcher=launcher, **options)
    if dry_run and request.follows:
        return 0
    if dry_run:
        click.echo(json.dumps(request.plan_json(), indent=1) if as_json else "\n".join(request.plan_lines()))
        return 0
    prepare()
    outlive_readers()
    raise_when_told()
    if request.follows:
        return request.follow()
    check_own_rules(load=not no_load)
    ended = request.carry_out()
    return close(ended, load=not no_load, as_json=as_json)
