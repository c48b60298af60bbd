"""bench suite: run a suite, load what it measured, end with the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command(name="suite", short_help="Run a suite and show how it scales.")
@click.argument("suite", metavar="NAME|FILE", required=False)
@click.option("--quick", is_flag=True, help="Merge the suite's quick section over it.")
@click.option("--case", "cases", metavar="GLOB", multiple=True, help="Only cases whose name matches; repeatable.")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Override, as in train.precision=bf16.")
@click.option("--world", metavar="N,...", help="World sizes instead of the cases' own: 1,2,4 or 2x4 or auto.")
@click.option("--repeats", type=click.IntRange(min=1), help="Repeats instead of the suite's.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Device instead of the suite's.")
@click.option("--ranks-per-node", type=click.IntRange(min=1), metavar="N", help="Slots per node, set by hand.")
@click.option("--oversubscribe", is_flag=True, help="Run world sizes beyond the slots; their rows get no verdict.")
@click.option("--results", type=click.Path(path_type=Path), help="Results folder  [$BENCH_RESULTS, ./results].")
@click.option("--data", "data_root", type=click.Path(path_type=Path), help="Folder that real data sets lie in.")
@click.option("--session", metavar="NAME", help="Name the session; resumes it where it exists.")
@click.option("--resume", metavar="SESSION", help="Finish an earlier session; what is done stays done.")
@click.option("--tag", "tags", metavar="T", multiple=True, help="Mark the session; repeatable.")
@click.option("--no-load", is_flag=True, help="Leave the database alone.")
@click.option("--dry-run", is_flag=True, help="Print the plan with its estimate; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="End with JSON instead of tables.")
def command(**options: Any) -> None:
    """Run the suite NAME (or the YAML file FILE) on what this machine has, then show how it scales."""
    from bench.launch.run_suite import run_suite

    raise click.exceptions.Exit(run_suite(**options))
