"""bench pack"""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="pack", short_help="Put a session into one archive that another site can verify.")
@click.argument("session", metavar="SESSION")
@click.option("--out", metavar="FILE", help="Archive to write; else SESSION.zip here.")
@click.option("--logs", is_flag=True, help="Also what the ranks printed, which may name people and places.")
@click.option("--no-report", is_flag=True, help="Leave the report out, most of a small session's bytes.")
@click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results.")
def command(session: str, out: str | None, logs: bool, no_report: bool, results: str | None) -> None:
    """Put SESSION, the name of its folder, into one ZIP archive: its JSON and Parquet files, a SHA-256 of each, and its
    report where the database has it.

    The same files give the same bytes. `bench load FILE.zip` verifies and loads it elsewhere."""
    from bench.cli._page_of import page_of
    from bench.packing.pack import no_page, pack
    from bench.paths import results_folder

    folder = results_folder(results) / session
    target = Path(out or f"{folder.name}.zip")
    packed = pack(folder, target, logs=logs, page=no_page if no_report else page_of)
    with_report = "with its report" if packed.has_report else "without a report"
    click.echo(f"{packed.path}: {packed.files:,} files {with_report}, {packed.size_bytes:,} bytes")
    click.echo(f"SHA-256 {packed.sha256}")
