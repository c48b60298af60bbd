"""Completion by the shell: names of suites and of sessions, from files alone, so that it is quick."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

AFTER_DASHES = "bench.after_dashes"
"""Key of a context's `meta`: whether the arguments before the cursor have the two dashes before a command."""


def suites(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Suites with their titles; files if a path or a command is being written."""
    if ctx.meta.get(AFTER_DASHES) or incomplete.startswith((".", "~")) or "/" in incomplete:
        return [CompletionItem(incomplete, type="file")]
    from bench.suite.find import listed

    found = [suite for suite in listed() if suite.name.startswith(incomplete)]
    return [CompletionItem(suite.name, help=suite.title) for suite in found]


def files(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, for the words of a command."""
    return [CompletionItem(incomplete, type="file")]


def sessions(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Sessions of the results folder, the last id first, and @latest."""
    from bench.common.errors import InputError
    from bench.common.paths import results_folder

    *before, last = incomplete.split(",")  # `bench compare A,B C`
    try:
        folder = results_folder(ctx.params.get("results"))
    except InputError:
        return []
    ids = sorted((path.parent.name for path in Path(folder).glob("[!.]*/session.json")), reverse=True)
    names = [name for name in ["@latest", *ids] if name.startswith(last)]
    return [CompletionItem(",".join([*before, name])) for name in names]
