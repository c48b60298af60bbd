"""bench show: Show a suite: why, cases, plan on this machine."""

from __future__ import annotations

import sys
from typing import Any

import click

from bench.cli import _complete
from bench.cli._options import format_option, options_named
from bench.cli._suite_argument import resolve


@click.command(name="show")
@click.argument("suite", metavar="NAME|FILE", shell_complete=_complete.suites)
@options_named(
    "quick",
    "cases",
    "settings",
    "vary",
    "world",
    "repeats",
    "device",
    "ranks_per_node",
    "oversubscribe",
    "results",
)
@format_option("text", "json")
def command(suite: str, form: str, **options: Any) -> None:
    """Show the suite NAME, or the YAML file FILE: why it exists, its cases, and its plan on this machine. JSON has the
    suite with every default filled in, and the plan."""
    import json
    from dataclasses import asdict

    from bench.common.paths import results_folder
    from bench.common.terminal import tell, width_of
    from bench.machine.slots import detect
    from bench.plan.estimate import estimate
    from bench.plan.plan import plan
    from bench.plan.plan_text import plan_lines, suite_lines
    from bench.session.folder import plan_summary

    resolved = resolve(suite, options)
    for note in resolved.notes:
        tell(f"bench: {note}")
    slots = detect(options["ranks_per_node"])
    planned = plan(resolved, slots, "planned", oversubscribe=options["oversubscribe"])
    results = results_folder(options["results"])
    if form == "json":
        known = {"suite": resolved.to_json(), "plan": plan_summary(planned)}
        click.echo(json.dumps(known | {"estimate": asdict(estimate(planned, results))}, indent=1))
        return
    width = width_of(sys.stdout)
    click.echo("\n".join([*suite_lines(resolved, width), "", *plan_lines(planned, results, width)]))
