"""bench suite: Run a suite and show how it scales."""

from __future__ import annotations

from typing import Any

import click

from bench.cli._options import PERCENT, Finite, suite_options


@click.command(name="suite")
@click.argument("suite", metavar="NAME|FILE", required=False)
@suite_options
@click.option(
    "--reserve", type=Finite(min=0), metavar="SECONDS",
    help="Skip runs that would end less than SECONDS before the Slurm allocation does.  [default: 30]",
)  # fmt: skip
@click.option(
    "--resume", metavar="SESSION", help="Finish an earlier session; completed runs are not repeated."
)
@click.option("--no-load", is_flag=True, help="Do not load the session into the database.")
@click.option("--dry-run", is_flag=True, help="Print the plan and an estimate of its time; run nothing.")
@click.option(
    "--plan-for", "width", type=PERCENT, metavar="PERCENT",
    help="Print how many steps and rounds are cheapest for 95 % intervals of efficiency with this half-width, from the"
    " newest session of the suite; run nothing.",
)  # fmt: skip
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON instead of tables, also with --dry-run and --plan-for.",
)
@click.option(
    "--launcher", type=click.Choice(["auto", "local", "srun"]), default="auto", show_default=True,
    help="auto: all tasks that srun, mpiexec or another launcher has started together, without one this machine; local:"
    " this machine only; srun: start a new step, or print its command line with --dry-run.",
)  # fmt: skip
@click.option(
    "--image",
    metavar="SIF",
    help="With --launcher srun: Apptainer image to run.  [default: this installation]",
)
@click.option(
    "--nodes", type=click.IntRange(min=1), metavar="N", help="With --launcher srun: number of nodes."
)
@click.option(
    "--gpus-per-node", type=click.IntRange(min=0), metavar="M", help="With --launcher srun: GPUs per node."
)
@click.option(
    "--srun", metavar="ARG", multiple=True, help="With --launcher srun: another option for srun; repeatable."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    dry_run: bool,
    width: float | None,
    no_load: bool,
    as_json: bool,
    launcher: str,
    **options: Any,
) -> int:
    """Run the suite NAME, or the YAML file FILE, on this machine; then show how it scales.

    Exit code 1: a run failed. 130 or 143: the session was stopped; --resume finishes it."""
    from bench.cli._plan_for import print_plan_for
    from bench.cli._run_session import run_session
    from bench.cli._srun import take_step_options, through_srun

    step_options = take_step_options(options, launcher)
    if width is not None:
        print_plan_for(context, width, as_json=as_json)
        return 0
    if launcher == "srun":
        return through_srun(context, step_options, dry_run=dry_run)
    return run_session(options, launcher=launcher, dry_run=dry_run, no_load=no_load, as_json=as_json)
