"""bench report: Write an HTML page per session, an index, and a comparison."""

from __future__ import annotations

from pathlib import Path

import click

from bench.cli._options import results_option


@click.command(name="report")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("--out", type=click.Path(file_okay=False), required=True, help="Folder for the pages.")
@click.option(
    "--compare",
    is_flag=True,
    help="Also write a page that compares up to 8 SESSIONs; the first is the baseline. A,B is one side.",
)
@results_option
def command(sessions: tuple[str, ...], out: str, compare: bool, results: str | None) -> None:
    """Write a self-contained page for every SESSION, and an index, into --out.

    SESSION is an id, the beginning of one, tag:NAME for all sessions with that tag, @latest, or @-1 for the one before;
    `bench sessions` lists them. Without a SESSION, every session gets a page. With --compare, sessions separated by
    commas count as one side.

    The pages need no network and open from a file:// address. The index also lists pages that earlier calls wrote
    into the folder."""
    from analysis.report import write
    from bench.common.errors import InputError
    from bench.common.paths import results_folder

    if not out:
        raise InputError("--out is empty: name a folder for the pages")
    for path in write(results_folder(results), sessions, Path(out), compare=compare):
        click.echo(path)
