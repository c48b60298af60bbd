"""bench summary: Print a session's scaling table and conclusion."""

from __future__ import annotations

import click

from bench.cli._options import results_option


@click.command(name="summary")
@click.argument("session", required=False)
@click.option("--tag", metavar="T", help="Take the newest session with this tag.")
@results_option
def command(session: str | None, tag: str | None, results: str | None) -> None:
    """Print a session, by default the newest: scaling table, runs, and a one-sentence conclusion."""
    from analysis import summary
    from bench.common.paths import called, results_folder

    summary.show(results_folder(results), session, tag=tag, program=called())
