"""bench load: Load result files into the database."""

from __future__ import annotations

import shlex
from pathlib import Path

import click


@click.command(name="load")
@click.argument("given", required=False, metavar="[RESULTS]")
@click.option(
    "--results",
    "option",
    metavar="DIR",
    help="Same as RESULTS.  [default: $BENCH_RESULTS, then ./results]",
)
@click.option(
    "--rules",
    metavar="DIR",
    help="Folder of custom diagnosis rules, one .sql file each.  [default: $BENCH_RULES, then the database's]",
)
def command(given: str | None, option: str | None, rules: str | None) -> int:
    """Update results.duckdb from the result files, which are the truth.

    RESULTS is the results folder [default: $BENCH_RESULTS, then ./results]. Bad files are named and left out; the exit
    code is then 1."""
    from analysis.loading.load import load
    from bench.cli._output import say
    from bench.common.errors import InputError
    from bench.common.paths import results_folder, rules_folder
    from bench.measure.raw_rows import finalise
    from bench.session.recovery import begun_and_never_ended
    from bench.slurm.accounting import note_max_rss

    folder = results_folder(given or option)
    if (folder / "session.json").exists():
        raise InputError(
            f"{folder}: this is a session, not a results folder: give its parent, {folder.resolve().parent}"
        )
    note_max_rss(folder)
    problems = [*finalise(folder), *begun_and_never_ended(folder)]
    report = load(folder, rules_folder(rules))
    say("\n".join([str(report), *problems, *_archives(folder)]))
    return 1 if problems or report.problems else 0


def _archives(folder: Path) -> list[str]:
    """A line for each archive in a results folder without sessions."""
    if any(folder.glob("*/session.json")):
        return []
    return [
        f"{archive} is an archive: unpack it with `{shlex.join(['tar', '-xzf', str(archive), '-C', str(folder)])}`, "
        "then load again"
        for archive in sorted(folder.glob("*.tar.gz"))
    ]
