"""bench losses: Say where a session lost efficiency."""

from __future__ import annotations

import click

from bench.cli import _complete
from bench.cli._options import format_option, results_option


@click.command(name="losses")
@click.argument("session", required=False, shell_complete=_complete.sessions)
@format_option("table", "csv", "json")
@results_option
def command(session: str | None, form: str, results: str | None) -> None:
    """Print where a session, by default the newest, lost efficiency: for each case and placement the share of time by
    cause, with its interval. The causes add up to 100 % minus the efficiency; a negative share is a gain.

    SESSION is an id, the beginning of one, tag:NAME for the newest session with that tag, @latest, or @-1 for the one
    before; `bench sessions` lists them."""
    from analysis import answers
    from bench.cli._output import print_answer, tell_unloaded
    from bench.common.paths import results_folder

    folder = results_folder(results)
    tell_unloaded(folder)
    print_answer(answers.losses(folder, session), form)
