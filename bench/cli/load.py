"""bench load: Load result files into the database."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="load")
@click.argument("given", nargs=-1, metavar="[RESULTS | FILE.zip...]")
@click.option(
    "--results",
    "option",
    metavar="DIR",
    help="Same as RESULTS; for archives: folder to unpack into.  [default: $BENCH_RESULTS, then ./results]",
)
@click.option(
    "--rules",
    metavar="DIR",
    help="Folder of custom diagnosis rules, one .sql file each.  [default: $BENCH_RULES, then the database's]",
)
def command(given: tuple[str, ...], option: str | None, rules: str | None) -> int:
    """Update results.duckdb from the result files, which are the truth.

    RESULTS is the results folder [default: $BENCH_RESULTS, then ./results]. Bad files are named and left out; the exit
    code is then 1. FILE.zip is an archive of `bench pack`; there may be several. If every checksum of all archives is
    right, their sessions are unpacked into the folder --results and loaded; otherwise nothing is written."""
    from analysis.loading.load import load
    from bench.cli._output import say
    from bench.common.errors import InputError
    from bench.common.paths import results_folder, rules_folder, writable_results_folder
    from bench.measure.raw_rows import finalise
    from bench.session.recovery import begun_and_never_ended
    from bench.slurm.accounting import note_max_rss

    archives = [path for path in map(Path, given) if path.suffix.lower() == ".zip" and not path.is_dir()]
    if len(given) > 1 and len(archives) < len(given):
        other = next(path for path in map(Path, given) if path not in archives)
        raise InputError(
            f"{other}: give one results folder, or archives of `bench pack` (FILE.zip) and no folder"
        )
    folder = results_folder(option if archives or not given else given[0])
    if archives:
        from bench.packing.unpack import unpack

        folder = writable_results_folder(option)
        for session in unpack(archives, folder):
            click.echo(f"verified: {session}")
    if (folder / "session.json").exists():
        raise InputError(
            f"{folder}: this is a session, not a results folder: give its parent, {folder.resolve().parent}"
        )
    note_max_rss(folder)
    problems = [*finalise(folder), *begun_and_never_ended(folder)]
    report = load(folder, rules_folder(rules))
    say("\n".join([str(report), *problems]))
    return 1 if problems or report.problems else 0
