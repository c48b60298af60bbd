"""bench reference: List published scaling tables, or load them next to your sessions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli._options import results_option

if TYPE_CHECKING:
    from bench.importing.references import Reference


@click.command(name="reference")
@click.argument("action", type=click.Choice(["list", "load"]))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@results_option
def command(action: str, names: tuple[str, ...], results: str | None) -> int:
    """List the published scaling tables that come with scalebench, or load them [default: all] as sessions with the tag
    `published`.

    The page of a session then shows their efficiency next to its own. A table has one figure per size, so there are no
    intervals. Nothing else mixes them with your sessions: no default chooses them, and no rule judges them."""
    from bench.common.paths import results_folder, writable_results_folder
    from bench.importing.references import named

    chosen = named(names)
    if action == "load":
        return _load(chosen, writable_results_folder(results))
    folder = results_folder(results)
    for reference in chosen:
        table = reference.table
        sizes = sorted({row.world_size for row in table.rows})
        loaded = ", loaded" if reference.is_in(folder) else ""
        click.echo(f"{reference.name}{loaded}: {table.title}, on {sizes[0]:,} to {sizes[-1]:,} GPUs")
        several = f"{reference.curves} of {reference.cases} cases with several sizes"
        click.echo(f"    {len(table.rows)} figures, {several}; {table.date}, {table.facts['licence']}")
        click.echo(f"    {table.facts['source']}")
    return 0


def _load(references: Sequence[Reference], results: Path) -> int:
    from analysis.loading.load import load
    from bench.cli._finish_session import check_custom_rules
    from bench.cli._output import say
    from bench.common.paths import rules_folder
    from bench.importing.references import add

    check_custom_rules(load=True)
    for reference in references:
        is_new = add(reference, results)
        click.echo(
            f"{reference.session_id}: {'added' if is_new else 'already there'}, {reference.table.title}"
        )
    report = load(results, rules_folder())
    say(str(report))
    return 1 if report.problems else 0
