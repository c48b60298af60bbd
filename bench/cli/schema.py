"""bench schema: Print the JSON Schema of suite files, or set up an editor."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="schema")
@click.option(
    "--editor", "suites", metavar="FILE", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Set up editors for the suite FILE instead: write suite.schema.json next to it, and name it in FILE's first"
    " line; repeatable.",
)  # fmt: skip
def command(suites: tuple[Path, ...]) -> None:
    """Print the JSON Schema of suite files, with the options of every workload and strategy.

    \b
    bench schema --editor my_suite.yaml

    Every editor with yaml-language-server then completes and checks the file: VS Code with its YAML extension, Neovim,
    Emacs, Helix and others."""
    from bench.common.paths import suites_folder
    from bench.suite.editor import SCHEMA, set_up

    text = (suites_folder() / SCHEMA).read_text(encoding="utf-8")
    if not suites:
        click.echo(text, nl=False)
    for suite in suites:
        click.echo(f"{set_up(suite, text)}: completes and checks {suite}")
