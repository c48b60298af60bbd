"""bench load"""

from __future__ import annotations

import click


@click.command(name="load")
@click.argument("results", required=False, metavar="[RESULTS]")
@click.option("--results", "option", metavar="DIR", help="The same as the argument.")
def command(results: str | None, option: str | None) -> int:
    """Bring results.duckdb up to the result files; the files are the truth.

    RESULTS is the results folder; else $BENCH_RESULTS, else ./results. A bad file is named, left out, and the exit
    code is 1."""
    from analysis.load import load
    from bench.errors import InputError
    from bench.launch.salvage import begun_and_never_ended
    from bench.measure.finalise import finalise
    from bench.paths import results_folder
    from bench.slurm.accounting import note_max_rss

    folder = results_folder(results or option)
    if (folder / "session.json").exists():
        raise InputError(f"{folder}: this is a session: give the folder above, {folder.resolve().parent}")
    note_max_rss(folder)
    problems = [*finalise(folder), *begun_and_never_ended(folder)]
    report = load(folder)
    click.echo("\n".join([str(report), *problems]))
    return 1 if problems or report.problems else 0
