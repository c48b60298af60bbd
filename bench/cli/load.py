"""bench load"""

from __future__ import annotations

import click


@click.command(name="load")
@click.argument("results", required=False, metavar="[RESULTS]")
@click.option(
    "--results",
    "option",
    metavar="DIR",
    help="The same as the argument; of an archive the folder that it goes to.",
)
@click.option(
    "--rules",
    metavar="DIR",
    help="Own rules of diagnosis, a .sql file each; else $BENCH_RULES, else those that the database has.",
)
def command(results: str | None, option: str | None, rules: str | None) -> int:
    """Bring results.duckdb up to the result files; the files are the truth.

    RESULTS is the results folder; else $BENCH_RESULTS, else ./results. A bad file is named, left out, and the exit
    code is 1. Or it is an archive of `bench pack`, FILE.zip: every checksum is verified, then its session stands in
    the folder of --results, and is loaded; where anything is wrong nothing is written."""
    from analysis.load import load
    from bench.cli._said import say
    from bench.errors import InputError
    from bench.launch.salvage import begun_and_never_ended
    from bench.measure.raw_rows import finalise
    from bench.packing.unpack import looks_like_one, unpack
    from bench.paths import results_folder, rules_folder, writable_results_folder
    from bench.slurm.accounting import note_max_rss

    folder = results_folder(results or option)
    if looks_like_one(folder):
        archive, folder = folder, writable_results_folder(option)
        click.echo(f"verified: {unpack(archive, folder)}")
    if (folder / "session.json").exists():
        raise InputError(f"{folder}: this is a session: give the folder above, {folder.resolve().parent}")
    note_max_rss(folder)
    problems = [*finalise(folder), *begun_and_never_ended(folder)]
    report = load(folder, rules_folder(rules))
    say("\n".join([str(report), *problems]))
    return 1 if problems or report.problems else 0
