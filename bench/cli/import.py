"""bench import: Import timings that were measured elsewhere."""
# ruff: noqa: N999 - a command's module has the command's name

from __future__ import annotations

from typing import Any

import click

from bench.cli._options import options_named, results_option


@click.command(name="import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--suite", required=True, metavar="NAME", help="Suite to file the session under.")
@results_option
@click.option("--session", metavar="NAME", help="Name of the session; it must not exist yet.")
@click.option("--title", metavar="TEXT", help="Title of the session's page.  [default: suite and file]")
@options_named("tags")
@click.option(
    "--format", "kind",
    type=click.Choice(["auto", "csv", "table", "log", "nccl", "published"]),
    default="auto", show_default=True,
    help="Format of FILE; auto detects it.",
)  # fmt: skip
@click.option("--case", metavar="NAME", help="Case name for all rows of a table, or all logs.")
@click.option("--strategy", metavar="NAME", help="Strategy of rows without one, such as ddp.")
@click.option(
    "--workload", metavar="NAME",
    help="What was trained; only sessions with the same workload are compared.  [default: imported]",
)  # fmt: skip
@click.option(
    "--examples", type=click.IntRange(min=1), metavar="N",
    help="For tables and logs: examples that a whole training processes, over all epochs.",
)  # fmt: skip
@click.option(
    "--world",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ranks of all logs, if these do not state them.",
)
@click.option("--no-load", is_flag=True, help="Do not load the session into the database.")
def command(no_load: bool, **options: Any) -> int:
    """Make a session from FILE: a CSV of whole trainings, a table that a program printed, Slurm logs, output of
    nccl-tests, or a published table.

    All or nothing: if a row is wrong, nothing is written, and every bad value is named. docs/import.md shows the
    formats."""
    from bench.cli._finish_session import check_custom_rules, show_loaded
    from bench.importing.import_session import ImportRequest, import_session

    check_custom_rules(load=not no_load)
    folder = import_session(ImportRequest(**options))
    return show_loaded(folder, load=not no_load)
