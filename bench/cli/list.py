"""bench list"""

from __future__ import annotations

import click


@click.command(name="list", short_help="List the suites.")
def command() -> None:
    """List the shipped suites and the YAML files in ./suites, each with its title; then the workloads that installed
    packages add."""
    from bench.suite.find import listed
    from bench.workloads import _installed, names

    suites = listed()
    width = max((len(suite.name) for suite in suites), default=0)
    for suite in suites:
        click.echo(f"{suite.name:{width}}  {suite.title}")
    if _installed.are_there():
        click.echo("\n".join(["", "workloads of installed packages", *_installed.described(names())]))
