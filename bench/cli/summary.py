"""bench summary: Print a session's scaling table and conclusion."""

from __future__ import annotations

import click

from bench.cli import _complete
from bench.cli._options import format_option, results_option


@click.command(name="summary")
@click.argument("session", required=False, shell_complete=_complete.sessions)
@click.option("--tag", metavar="T", help="Take the newest session with this tag.")
@click.option("--wide", is_flag=True, help="Show every column of the scaling table.")
@click.option(
    "--runs", "every_run", is_flag=True, help="Add a table of all runs, message sizes and matrix shapes."
)
@format_option("table", "json")
@results_option
def command(
    session: str | None, tag: str | None, wide: bool, every_run: bool, form: str, results: str | None
) -> None:
    """Print a session, by default the newest: scaling table, notable results, and a one-sentence conclusion. JSON has
    the rows of `scaling`, of the measured machine, of the time to a target, of lost efficiency, of findings and of the
    cost of measuring.

    SESSION is an id, the beginning of one, tag:NAME for the newest session with that tag, @latest, or @-1 for the one
    before; `bench sessions` lists them."""
    import json

    from analysis import summary
    from bench.cli._output import tell_unloaded
    from bench.common.paths import called, results_folder

    folder = results_folder(results)
    tell_unloaded(folder)
    if form == "json":
        click.echo(json.dumps(summary.newest_answer(folder, session, tag), indent=1))
        return
    summary.show(folder, session, tag=tag, wide=wide, every_run=every_run, program=called())
