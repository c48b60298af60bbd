"""bench suite"""

from __future__ import annotations

from typing import Any

import click


@click.command(name="suite", short_help="Run a suite and show how it scales.")
@click.argument("suite", metavar="NAME|FILE", required=False)
@click.option("--quick", is_flag=True, help="Merge the suite's quick section over it.")
@click.option(
    "--case", "cases", metavar="GLOB", multiple=True,
    help="Only cases whose name matches; the name of a case with a matrix chooses all that it makes; repeatable.",
)  # fmt: skip
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="As in train.precision=bf16; repeatable."
)
@click.option("--world", metavar="N,...", help="World sizes instead of the cases' own: 1,2,4 or 2x4 or auto.")
@click.option("--repeats", type=click.IntRange(min=1), metavar="N", help="Repeats instead of the suite's.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Device instead of the suite's.")
@click.option(
    "--ranks-per-node", type=click.IntRange(min=1), metavar="N", help="Slots per node, set by hand."
)
@click.option(
    "--oversubscribe", is_flag=True, help="Run world sizes beyond the slots; their rows get no verdict."
)
@click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results.")
@click.option("--data", "data_root", metavar="DIR", help="Folder that real data sets lie in.")
@click.option("--session", metavar="NAME", help="Name the session; resumes it where it exists.")
@click.option("--resume", metavar="SESSION", help="Finish an earlier session; what is done stays done.")
@click.option("--tag", "tags", metavar="T", multiple=True, help="Mark the session; repeatable.")
@click.option("--no-load", is_flag=True, help="Leave the database alone.")
@click.option("--dry-run", is_flag=True, help="Print the plan with its estimate; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="End with JSON instead of tables.")
def command(dry_run: bool, no_load: bool, as_json: bool, **options: Any) -> int:
    """Run the suite NAME, or the YAML file FILE, on what this machine has; then show how it scales.

    Exit code 1 where a run failed; 130 or 143 where the session was stopped: --resume finishes it."""
    from bench.cli._closing import close
    from bench.launch.request import Request

    request = Request(**options)
    if dry_run:
        click.echo("\n".join(request.plan_lines()))
        return 0
    ended = request.carry_out()
    return close(ended, load=not no_load, as_json=as_json)
