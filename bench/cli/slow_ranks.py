"""bench slow-ranks: Name the ranks that others wait for."""

from __future__ import annotations

import click

from bench.cli import _complete
from bench.cli._options import format_option, results_option


@click.command(name="slow-ranks")
@click.argument("session", required=False, shell_complete=_complete.sessions)
@format_option("table", "csv", "json")
@results_option
def command(session: str | None, form: str, results: str | None) -> None:
    """Print which ranks of a session, by default the newest, the others wait for, and for how long in each step: every
    rank that is certainly slow, and the slowest of each case and placement. csv and json have all ranks.

    SESSION is an id, the beginning of one, tag:NAME for the newest session with that tag, @latest, or @-1 for the one
    before; `bench sessions` lists them."""
    from analysis import answers
    from bench.cli._output import print_answer, tell_unloaded
    from bench.common.paths import results_folder

    folder = results_folder(results)
    tell_unloaded(folder)
    print_answer(answers.slow_ranks(folder, session), form)
