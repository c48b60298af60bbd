"""bench history"""

from __future__ import annotations

import click


@click.command(name="history", short_help="Print a suite over its sessions, and what became slower.")
@click.argument("suite", required=False)
@click.option("--regressions", "only_regressions", is_flag=True, help="Regressions only, the newest first.")
@click.option(
    "--last", type=click.IntRange(min=1), default=10, show_default=True, help="So many sessions, the newest."
)
@click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results.")
def command(suite: str | None, only_regressions: bool, last: int, results: str | None) -> None:
    """Print each case and placement of SUITE, by default that of the newest session, session by session: throughput,
    its ratio to the session before with the same settings on the same model of device, and what changed since.

    The exit code is 0 whatever was found; `bench compare A B` gates a merge request."""
    from analysis import history_table
    from bench.paths import results_folder

    history_table.show(results_folder(results), suite, last=last, only_regressions=only_regressions)
