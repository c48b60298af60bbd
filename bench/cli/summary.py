"""bench summary: Print a session's scaling table and conclusion."""

from __future__ import annotations

import click

from bench.cli._options import results_option


@click.command(name="summary")
@click.argument("session", required=False)
@click.option("--tag", metavar="T", help="Take the newest session with this tag.")
@click.option("--wide", is_flag=True, help="Show every column of the scaling table.")
@click.option(
    "--runs", "every_run", is_flag=True, help="Add a table of all runs, message sizes and matrix shapes."
)
@results_option
def command(session: str | None, tag: str | None, wide: bool, every_run: bool, results: str | None) -> None:
    """Print a session, by default the newest: scaling table, notable results, and a one-sentence conclusion.

    SESSION is an id, the beginning of one, tag:NAME for the newest session with that tag, @latest, or @-1 for the one
    before; `bench sessions` lists them."""
    from analysis import summary
    from bench.common.paths import called, results_folder

    summary.show(results_folder(results), session, tag=tag, wide=wide, every_run=every_run, program=called())
