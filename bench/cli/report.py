"""bench report"""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="report", short_help="Write an HTML page per session, an index, a comparison.")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("--out", type=click.Path(file_okay=False), required=True, help="Folder for the pages.")
@click.option(
    "--compare",
    is_flag=True,
    help="Also a page that compares the SESSIONs, up to 8; the first is the baseline. A,B is one side of two sessions.",
)
@click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results.")
def command(sessions: tuple[str, ...], out: str, compare: bool, results: str | None) -> None:
    """Write a self-contained page for every SESSION and an index into --out. A SESSION is the id of one in the
    database, or its beginning, which the index and `bench sql "FROM sessions"` list, or tag:NAME for all with that tag;
    where none is named, every one gets its page. With --compare several with commas between them count as one side.

    The pages need no network and open from a file:// address. The index lists what earlier calls wrote into the
    folder, too."""
    from analysis.report import write
    from bench.errors import InputError
    from bench.paths import results_folder

    if not out:
        raise InputError("--out is empty: name a folder for the pages")
    for path in write(results_folder(results), sessions, Path(out), compare=compare):
        click.echo(path)
