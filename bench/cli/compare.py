"""bench compare: Compare two sessions; exit code 3 if B is certainly slower."""

from __future__ import annotations

import click

from bench.cli import _complete
from bench.cli._options import PERCENT, format_option, results_option

FAILED_EXIT_CODE = 1
REGRESSION_EXIT_CODE = 3
OTHER_MACHINE_EXIT_CODE = 4


@click.command(name="compare")
@click.argument("baseline", metavar="A", shell_complete=_complete.sessions)
@click.argument("candidate", metavar="B", shell_complete=_complete.sessions)
@click.option(
    "--margin",
    type=PERCENT,
    default="2%",
    show_default=True,
    help="The verdict is `same` if two one-sided tests show that the ratio is within 1 ± this margin.",
)
@click.option(
    "--max-regression",
    type=PERCENT,
    default="5%",
    show_default=True,
    help="The exit code is 3 if a case certainly loses more throughput than this.",
)
@click.option(
    "--require-alike",
    is_flag=True,
    help="End with exit code 4 if the two sides ran on different machines: CPU model, GPU, driver, torch and so on.",
)
@format_option("table", "markdown", "json", "csv", note=" Markdown is for a merge request.")
@results_option
def command(
    *,
    baseline: str,
    candidate: str,
    margin: float,
    max_regression: float,
    require_alike: bool,
    form: str,
    results: str | None,
) -> int:
    """Compare the throughput of B with the baseline A, case by case.

    A and B are session ids, or their beginnings, tag:NAME for all sessions with that tag, @latest, or @-1 for the one
    before; separate several with commas. SESSION:CASE on both sides compares two cases, also of one session.

    Exit code 3: a case is slower by more than --max-regression, and the interval supports that after correction for
    all rows. An inconclusive verdict never sets it. Exit code 1: a size that the baseline trains failed in all runs of
    B. Exit code 2: there is nothing to compare. Exit code 4, with --require-alike: the machines differ, so a difference
    in speed may not come from the change."""
    from analysis.compare import render
    from analysis.compare.wording import not_alike
    from bench.cli._output import say
    from bench.common.paths import results_folder

    comparison = render.write(
        results_folder(results), baseline, candidate, margin=margin, max_regression=max_regression, form=form
    )
    if require_alike and (reason := not_alike(comparison)):
        say(f"error: {reason}: measure both on one kind of machine", err=True)
        return OTHER_MACHINE_EXIT_CODE
    if comparison.has_regression:
        return REGRESSION_EXIT_CODE
    return FAILED_EXIT_CODE if comparison.fails else 0
