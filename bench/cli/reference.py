"""bench reference: List or load published scaling tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.cli._options import format_option, results_option
from bench.common.errors import InputError

if TYPE_CHECKING:
    from bench.importing.references import Reference


@click.command(name="reference")
@click.argument("action", type=click.Choice(["list", "load"]))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@format_option("table", "json")
@results_option
def command(action: str, names: tuple[str, ...], form: str, results: str | None) -> int:
    """List the published scaling tables that come with scalebench, or load them [default: all] as sessions with the tag
    `published`.

    The page of a session then shows their efficiency next to its own. A table has one figure per size, so there are no
    intervals. Nothing else mixes them with your sessions: commands choose them by default only if there are no other
    sessions, and no rule judges them."""
    from bench.common.paths import results_folder, writable_results_folder
    from bench.importing.references import named

    chosen = named(names)
    if action == "load":
        if form == "json":
            raise InputError("bench reference load prints no facts: --format is for bench reference list")
        return _load(chosen, writable_results_folder(results))
    folder = results_folder(results)
    facts = [_facts(reference, folder) for reference in chosen]
    if form == "json":
        click.echo(json.dumps(facts, indent=1, ensure_ascii=False))
        return 0
    for one in facts:
        loaded = ", loaded" * one["loaded"] + ", another version" * one["another_version"]
        sizes = f"{one['fewest_gpus']:,} to {one['most_gpus']:,} GPUs"
        click.echo(f"{one['name']}{loaded}: {one['title']}, on {sizes}")
        several = f"{one['curves']} of {one['cases']} cases with several sizes"
        click.echo(f"    {one['figures']} figures, {several}; {one['date']}, {one['licence']}")
        click.echo(f"    {one['source']}")
    return 0


def _facts(reference: Reference, folder: Path) -> dict[str, Any]:
    table = reference.table
    sizes = sorted({row.world_size for row in table.rows})
    return {
        "name": reference.name,
        "title": table.title,
        "loaded": reference.is_in(folder),
        "another_version": reference.is_outdated_in(folder),
        "figures": len(table.rows),
        "cases": reference.cases,
        "curves": reference.curves,
        "fewest_gpus": sizes[0],
        "most_gpus": sizes[-1],
        "date": str(table.date),
        "licence": table.facts["licence"],
        "source": table.facts["source"],
    }


def _load(references: Sequence[Reference], results: Path) -> int:
    from analysis.loading.load import load
    from bench.cli._finish_session import check_custom_rules
    from bench.cli._output import say
    from bench.common.paths import rules_folder
    from bench.importing.references import add, check

    check_custom_rules(load=True)
    check(references, results)
    for reference in references:
        is_new = add(reference, results)
        click.echo(
            f"{reference.session_id}: {'added' if is_new else 'already there'}, {reference.table.title}"
        )
    report = load(results, rules_folder())
    say(str(report))
    return 1 if report.problems else 0
