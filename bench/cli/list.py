"""bench list: List the suites."""

from __future__ import annotations

import sys

import click

from bench.cli._options import format_option
from bench.common import entry_points
from bench.common.custom_function import LOADER, OPTIMIZER, SCHEDULE


@click.command(name="list")
@format_option("table", "json")
def command(form: str) -> None:
    """List the shipped suites and the YAML files in ./suites, each with its title; then what installed packages add:
    workloads, strategies, loaders, optimizers, and schedules. JSON has the suites, with their paths."""
    from bench import strategies, workloads
    from bench.common.terminal import width_of, wrapped
    from bench.strategies._custom import STRATEGY
    from bench.suite.find import listed
    from bench.workloads._custom import WORKLOAD

    suites, columns = listed(), width_of(sys.stdout)
    if form == "json":
        import json

        found = [{"name": suite.name, "title": suite.title, "path": str(suite.path)} for suite in suites]
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    width = max((len(suite.name) for suite in suites), default=0)
    for suite in suites:
        line = f"{suite.name:{width}}  {suite.title}"
        click.echo("\n".join(wrapped(line, columns, " " * (width + 2))))
    parts = [
        (WORKLOAD.word, WORKLOAD.group, workloads.names()),
        (STRATEGY.word, STRATEGY.group, strategies.names()),
        *((own.word, own.group, list(own.ours)) for own in (LOADER, OPTIMIZER, SCHEDULE)),
    ]
    for word, group, shipped in parts:
        if entry_points.are_installed(group):
            heading = f"{entry_points.plural(word)} of installed packages"
            lines = ["", heading, *entry_points.described(word, group, shipped)]
            click.echo("\n".join(part for line in lines for part in wrapped(line, columns, "  ")))
