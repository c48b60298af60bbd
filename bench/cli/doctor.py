"""bench doctor: Check what this machine can run, and what prevents it."""

from __future__ import annotations

import os
import sys

import click

from bench.cli._options import results_option


@click.command(name="doctor")
@results_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(results: str | None, as_json: bool) -> None:
    """Check devices, torch, Slurm, container, disk and limits; every fault comes with its remedy.

    Exit code 2: something makes runs impossible. A missing GPU is not an error."""
    from bench.common.paths import results_folder
    from bench.common.terminal import width_of
    from bench.doctor import examine
    from bench.doctor.show import as_text, to_json

    findings = examine(results_folder(results))
    colour = False if os.environ.get("NO_COLOR") else None
    click.echo(to_json(findings) if as_json else as_text(findings, width_of(sys.stdout)), color=colour)
    raise click.exceptions.Exit(2 if any(finding.level == "fail" for finding in findings) else 0)
