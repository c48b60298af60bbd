"""bench schema: Print the JSON Schema of suite files."""

from __future__ import annotations

import click


@click.command(name="schema")
def command() -> None:
    """Print the JSON Schema of suite files, with the options of every workload and strategy.

    An editor that supports `# yaml-language-server: $schema=FILE` uses it to complete and check a suite file."""
    import json

    from bench.suite.json_schema import suite_schema

    click.echo(json.dumps(suite_schema(), indent=1, ensure_ascii=False))
