"""bench import"""
# ruff: noqa: N999 - the command is called so; modules of commands are imported by name

from __future__ import annotations

from typing import Any

import click


@click.command(name="import", short_help="Take in timings that were measured elsewhere.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--suite", required=True, metavar="NAME", help="Suite under which the session is shown.")
@click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results.")
@click.option("--session", metavar="NAME", help="Name the session; refused where it exists.")
@click.option("--title", metavar="TEXT", help="Title of the session's page; else suite and file.")
@click.option("--tag", "tags", metavar="T", multiple=True, help="Mark the session; repeatable.")
@click.option(
    "--format", "kind", type=click.Choice(["auto", "csv", "table", "log", "nccl"]), default="auto", show_default=True,
    help="What FILE is; auto looks into it.",
)  # fmt: skip
@click.option("--case", metavar="NAME", help="Case of all rows of a table or of all logs.")
@click.option("--strategy", metavar="NAME", help="Strategy of rows that say none, such as ddp.")
@click.option(
    "--workload", metavar="NAME",
    help="What was trained, else `imported`; sessions are compared where it is the same.",
)  # fmt: skip
@click.option(
    "--examples", type=click.IntRange(min=1), metavar="N",
    help="Examples that a whole training processes, over all epochs; of tables and logs.",
)  # fmt: skip
@click.option(
    "--world", type=click.IntRange(min=1), metavar="N", help="Ranks of all logs, where they do not say it."
)
@click.option("--no-load", is_flag=True, help="Leave the database alone.")
def command(no_load: bool, **options: Any) -> int:
    """Make a session of FILE: a CSV of whole trainings, a table that a program printed, Slurm logs, or what nccl-tests
    wrote.

    All or nothing: where a row is wrong nothing is written, and every bad value is named. docs/import.md shows the
    formats."""
    from bench.cli._closing import check_own_rules, show_loaded
    from bench.importing.request import Request

    check_own_rules(load=not no_load)
    folder = Request(**options).carry_out()
    return show_loaded(folder, load=not no_load)
