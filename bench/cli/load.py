"""bench load"""

from __future__ import annotations

import click


@click.command(name="load", short_help="Load result files into the database.")
@click.argument("results", required=False, metavar="[RESULTS]")
@click.option(
    "--results",
    "option",
    metavar="DIR",
    help="Same as RESULTS; for an archive: folder to unpack into.  [default: $BENCH_RESULTS, then ./results]",
)
@click.option(
    "--rules",
    metavar="DIR",
    help="Folder of custom diagnosis rules, one .sql file each.  [default: $BENCH_RULES, then the database's]",
)
def command(results: str | None, option: str | None, rules: str | None) -> int:
    """Update results.duckdb from the result files, which are the truth.

    RESULTS is the results folder [default: $BENCH_RESULTS, then ./results]. Bad files are named and left out; the exit
    code is then 1. RESULTS may also be an archive of `bench pack`, FILE.zip: if every checksum is right, its session
    is unpacked into the folder --results and loaded; otherwise nothing is written."""
    from analysis.loading.load import load
    from bench.cli._output import say
    from bench.common.errors import InputError
    from bench.common.paths import results_folder, rules_folder, writable_results_folder
    from bench.measure.raw_rows import finalise
    from bench.session.recovery import begun_and_never_ended
    from bench.slurm.accounting import note_max_rss

    folder = results_folder(results or option)
    if folder.suffix.lower() == ".zip" and not folder.is_dir():
        from bench.packing.unpack import unpack

        archive, folder = folder, writable_results_folder(option)
        click.echo(f"verified: {unpack(archive, folder)}")
    if (folder / "session.json").exists():
        raise InputError(
            f"{folder}: this is a session, not a results folder: give its parent, {folder.resolve().parent}"
        )
    note_max_rss(folder)
    problems = [*finalise(folder), *begun_and_never_ended(folder)]
    report = load(folder, rules_folder(rules))
    say("\n".join([str(report), *problems]))
    return 1 if problems or report.problems else 0
