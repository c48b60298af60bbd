"""bench sessions: List the sessions, newest first, each with its headline."""

from __future__ import annotations

import click

from bench.cli import _complete
from bench.cli._options import format_option, results_option


@click.command(name="sessions")
@click.argument("suite", required=False, shell_complete=_complete.suites)
@click.option(
    "--last", type=click.IntRange(min=1), default=20, show_default=True, metavar="N",
    help="List the N newest sessions.",
)  # fmt: skip
@format_option("table", "csv", "json")
@results_option
def command(suite: str | None, last: int, form: str, results: str | None) -> None:
    """List the sessions of the database, or of the suite SUITE, newest first: id, suite, beginning (UTC), how many runs
    are ok, and whether the session is finished. Below these are its command, unless that only names the suite, and its
    headline.

    csv and json have all digits, and do not shorten the command or the headline."""
    from analysis import sessions
    from bench.cli._output import tell_unloaded
    from bench.common.paths import results_folder

    folder = results_folder(results)
    tell_unloaded(folder)
    rows = sessions.read(folder, suite=suite, last=last)
    if form == "table":
        sessions.show(rows)
    else:
        from analysis.export.plain_rows import as_text

        click.echo(as_text(rows, form), nl=False)
