"""bench doctor: what this machine can do, and what is in the way."""

from __future__ import annotations

import os

import click


@click.command(name="doctor", short_help="See what this machine can do and what is in the way.")
@click.option("--results", metavar="DIR", help="Results folder  [$BENCH_RESULTS, ./results].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(results: str | None, as_json: bool) -> None:
    """Look at devices, torch, Slurm, container, disk and limits; every fault comes with its remedy.

    Exit code 2 where something makes runs impossible. A machine without a GPU is well.
    """
    from bench.doctor import examine
    from bench.doctor.show import as_text, to_json
    from bench.paths import results_folder

    findings = examine(results_folder(results))
    colour = False if os.environ.get("NO_COLOR") else None
    click.echo(to_json(findings) if as_json else as_text(findings), color=colour)
    raise click.exceptions.Exit(2 if any(finding.level == "fail" for finding in findings) else 0)
