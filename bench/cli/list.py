"""bench list: List the suites."""

from __future__ import annotations

import sys

import click

from bench.cli._options import format_option


@click.command(name="list")
@format_option("table", "json")
def command(form: str) -> None:
    """List the shipped suites and the YAML files in ./suites, each with its title. JSON also has their paths."""
    from bench.common.terminal import width_of, wrapped
    from bench.suite.find import listed

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
