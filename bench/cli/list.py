"""bench list: the suites there are."""

from __future__ import annotations

import click


@click.command(name="list", short_help="List the suites there are.")
def command() -> None:
    """List the suites that ship and the YAML files in ./suites, each with its title."""
    from bench.suite.find import listed

    suites = listed()
    width = max((len(suite.name) for suite in suites), default=0)
    for suite in suites:
        click.echo(f"{suite.name:{width}}  {suite.title}")
