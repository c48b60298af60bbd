"""bench pack: Pack a session into an archive that another site can verify."""

from __future__ import annotations

from pathlib import Path

import click

from bench.cli import _complete
from bench.cli._options import results_option


@click.command(name="pack")
@click.argument("session", metavar="SESSION", shell_complete=_complete.sessions)
@click.option("--out", metavar="FILE", help="Archive to write.  [default: SESSION.zip in the current folder]")
@click.option("--logs", is_flag=True, help="Include the ranks' output, which may name people and places.")
@click.option(
    "--no-report", is_flag=True, help="Leave out the report, which is most of a small session's size."
)
@results_option
def command(session: str, out: str | None, logs: bool, no_report: bool, results: str | None) -> None:
    """Pack SESSION into one ZIP archive: its JSON and Parquet files, a SHA-256 of each, and
    its report if the database has the session.

    SESSION is an id, the beginning of one, tag:NAME for the newest session with that tag, @latest, or @-1 for the one
    before.

    The same files give the same bytes. `bench load FILE.zip` verifies and loads the archive elsewhere."""
    from bench.cli._finish_session import write_page
    from bench.common.paths import results_folder
    from bench.packing.pack import no_page, pack
    from bench.session.find_session import find_session

    folder = results_folder(results) / find_session(results_folder(results), session)
    target = Path(out or f"{folder.name}.zip")
    packed = pack(folder, target, logs=logs, page=no_page if no_report else write_page)
    with_report = "with its report" if packed.has_report else "without a report"
    click.echo(f"{packed.path}: {packed.files:,} files {with_report}, {packed.size_bytes:,} bytes")
    click.echo(f"SHA-256 {packed.sha256}")
