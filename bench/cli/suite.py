"""bench suite: Run a suite and show how it scales."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from bench.cli._options import PERCENT, Finite, suite_options

if TYPE_CHECKING:
    from pathlib import Path

    from bench.records.run_spec import PlannedRun


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
    help="auto: all tasks of the current Slurm step, outside of one this machine; local: this machine only; srun:"
    " start a new step, or print its command line with --dry-run.",
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
    from bench.cli._finish_session import check_custom_rules, finish, prepare
    from bench.cli._output import outlive_readers
    from bench.cli._plan_for import print_plan_for
    from bench.cli._srun import take_step_options, through_srun

    step_options = take_step_options(options, launcher)
    if width is not None:
        print_plan_for(context, width, as_json=as_json)
        return 0
    if launcher == "srun":
        return through_srun(context, step_options, dry_run=dry_run)
    from bench.session.start import SessionOptions, planned_runs, start
    from bench.session.stop import raise_when_told
    from bench.slurm.step import Step

    session_options = SessionOptions(**options)
    step = Step.here() if launcher == "auto" else None
    follows = step is not None and step.task > 0
    if dry_run:
        if not follows:
            _print_plan(*planned_runs(session_options), as_json=as_json)
        return 0
    prepare()
    outlive_readers()
    raise_when_told()
    if step is not None and follows:
        from bench.cluster.follower import follow
        from bench.common.paths import writable_results_folder

        return follow(step, writable_results_folder(options["results"]), options["ranks_per_node"])
    check_custom_rules(load=not no_load)
    return finish(start(session_options, step), load=not no_load, as_json=as_json)


def _print_plan(plan: tuple[PlannedRun, ...], results: Path, *, as_json: bool) -> None:
    from dataclasses import asdict

    from bench.plan.estimate import estimate
    from bench.plan.view import plan_lines
    from bench.session.folder import plan_summary

    if as_json:
        found = {"plan": plan_summary(plan), "estimate": asdict(estimate(plan, results))}
        click.echo(json.dumps(found, indent=1))
    else:
        click.echo("\n".join(plan_lines(plan, results)))
