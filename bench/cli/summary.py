"""bench summary"""

from __future__ import annotations

import click


@click.command(name="summary")
@click.argument("session", required=False)
@click.option("--tag", metavar="T", help="The newest session that carries this tag.")
@click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results.")
def command(session: str | None, tag: str | None, results: str | None) -> None:
    """Print a session, by default the newest: scaling table, runs, and one closing sentence."""
    from analysis import summary
    from bench.paths import results_folder
    from bench.program import called

    summary.show(results_folder(results), session, tag=tag, program=called())
