"""bench show: what a suite asks, and what this machine would run of it."""

from __future__ import annotations

from typing import Any

import click


@click.command(name="show", short_help="Show a suite: why, cases, plan on this machine.")
@click.argument("suite", metavar="NAME|FILE")
@click.option("--quick", is_flag=True, help="Merge the suite's quick section over it.")
@click.option(
    "--case", "cases", metavar="GLOB", multiple=True, help="Only cases whose name matches; repeatable."
)
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="Override, as in train.precision=bf16."
)
@click.option("--world", metavar="N,...", help="World sizes instead of the cases' own: 1,2,4 or 2x4 or auto.")
@click.option("--repeats", type=click.IntRange(min=1), help="Exactly N repeats, not the suite's.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Device instead of the suite's.")
@click.option(
    "--ranks-per-node", type=click.IntRange(min=1), metavar="N", help="Slots per node, set by hand."
)
@click.option("--oversubscribe", is_flag=True, help="Plan world sizes beyond the slots too.")
@click.option(
    "--results", metavar="DIR", help="Results to estimate from; else $BENCH_RESULTS, else ./results."
)
def command(
    suite: str, ranks_per_node: int | None, oversubscribe: bool, results: str | None, **wishes: Any
) -> None:
    """Show the suite NAME, or the YAML file FILE: why it exists, its cases, and its plan on this machine."""
    from bench.paths import results_folder
    from bench.plan import plan
    from bench.plan_view import plan_lines, suite_lines
    from bench.slots import detect
    from bench.suite.resolve import Selection, load_suite

    resolved = load_suite(suite, Selection(**wishes))
    for note in resolved.notes:
        click.echo(f"bench: {note}", err=True)
    planned = plan(resolved, detect(ranks_per_node), "planned", oversubscribe=oversubscribe)
    click.echo("\n".join([*suite_lines(resolved), "", *plan_lines(planned, results_folder(results))]))
