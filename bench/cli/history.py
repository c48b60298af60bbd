"""bench history: Show a suite over its sessions, and what became slower."""

from __future__ import annotations

import click

from bench.cli import _complete
from bench.cli._options import format_option, results_option


@click.command(name="history")
@click.argument("suite", required=False, shell_complete=_complete.suites)
@click.option("--regressions", "only_regressions", is_flag=True, help="Show only regressions, newest first.")
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Show the N newest sessions.",
)
@format_option("table", "csv", "json")
@results_option
def command(suite: str | None, only_regressions: bool, last: int, form: str, results: str | None) -> None:
    """Print each case and placement of SUITE, by default the newest session's suite, over its sessions: throughput, its
    ratio to the previous session with the same settings on the same device model, and what changed since then. A
    regression is slower than the level of earlier sessions. A change that all cases share is one row.

    The exit code is 0 even if there are regressions; use `bench compare A B` to gate a merge request."""
    from analysis import history
    from bench.common.paths import results_folder

    if form == "table":
        history.show(results_folder(results), suite, last=last, only_regressions=only_regressions)
        return
    from analysis.export.plain_rows import as_text

    rows = history.rows(results_folder(results), suite, last=last, only_regressions=only_regressions)
    click.echo(as_text(rows, form), nl=False)
