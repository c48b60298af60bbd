"""bench schema: what editors check suite files against."""

from __future__ import annotations

import click


@click.command(name="schema", short_help="Print the JSON Schema of suite files.")
def command() -> None:
    """Print the JSON Schema of suite files, with the options of every workload and strategy.

    Editors that understand `# yaml-language-server: $schema=FILE` complete and check a suite while it is written."""
    import json

    from bench.suite.schema import suite_schema

    click.echo(json.dumps(suite_schema(), indent=1, ensure_ascii=False))
