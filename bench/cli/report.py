"""bench report"""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="report", short_help="Write an HTML page per session, and an index.")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder for the pages."
)
@click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results.")
def command(sessions: tuple[str, ...], out: Path, results: str | None) -> None:
    """Write a self-contained page for every SESSION (all sessions where none is named) and an index into --out.

    The pages need no network and open from a file:// address."""
    from analysis.report import write
    from bench.paths import results_folder

    for path in write(results_folder(results), sessions, out):
        click.echo(path)
