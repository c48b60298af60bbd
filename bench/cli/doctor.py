"""bench doctor: Check what this machine can run, and what prevents it."""

from __future__ import annotations

import os
import sys

import click

from bench.cli._options import format_option, results_option


@click.command(name="doctor")
@results_option
@format_option("text", "json")
def command(results: str | None, form: str) -> None:
    """Check devices, torch, Slurm, container, disk and limits; every fault comes with its remedy.

    Exit code 2: something makes runs impossible. A missing GPU is not an error."""
    from bench.common.paths import results_folder
    from bench.common.terminal import width_of
    from bench.doctor import examine
    from bench.doctor.show import as_text, to_json

    findings = examine(results_folder(results))
    colour = False if os.environ.get("NO_COLOR") else None
    click.echo(to_json(findings) if form == "json" else as_text(findings, width_of(sys.stdout)), color=colour)
    raise click.exceptions.Exit(2 if any(finding.level == "fail" for finding in findings) else 0)
