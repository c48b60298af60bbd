"""bench list"""

from __future__ import annotations

import click

from bench.common.own_part import plural


@click.command(name="list", short_help="List the suites.")
def command() -> None:
    """List the shipped suites and the YAML files in ./suites, each with its title; then the workloads and strategies
    that installed packages add."""
    from bench import strategies, workloads
    from bench.strategies._custom import STRATEGY
    from bench.suite.find import listed
    from bench.workloads._custom import WORKLOAD

    suites = listed()
    width = max((len(suite.name) for suite in suites), default=0)
    for suite in suites:
        click.echo(f"{suite.name:{width}}  {suite.title}")
    for part, shipped in ((WORKLOAD, workloads.names()), (STRATEGY, strategies.names())):
        if part.are_installed():
            heading = f"{plural(part.word)} of installed packages"
            click.echo("\n".join(["", heading, *part.described(shipped)]))
