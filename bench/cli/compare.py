"""bench compare"""

from __future__ import annotations

import click

from bench.cli._percent import PERCENT

REGRESSION = 3
"""Exit code."""


@click.command(name="compare", short_help="Is B faster than A, or slower? Exit code 3 where it certainly is.")
@click.argument("baseline", metavar="A")
@click.argument("candidate", metavar="B")
@click.option(
    "--margin", type=PERCENT, default="2%", show_default=True, help="Within 1 ± this an interval is `same`."
)
@click.option(
    "--max-regression",
    type=PERCENT,
    default="5%",
    show_default=True,
    help="Loss of throughput from which the exit code is 3, where it is certain.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "json", "csv"]),
    default="table",
    show_default=True,
    help="How it is written; markdown is for a merge request.",
)
@click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results.")
def command(
    *, baseline: str, candidate: str, margin: float, max_regression: float, form: str, results: str | None
) -> int:
    """Compare the throughput of B with that of A, the baseline, case by case.

    A and B are session ids, beginnings of such, tag:NAME for every session with that tag, or several of these with
    commas between them. SESSION:CASE on both sides compares two cases, as of one session.

    Exit code 3 where a case is slower by more than --max-regression, and its interval supports that over all rows;
    never where the verdict is inconclusive. 2 where there is nothing to compare."""
    from analysis.compare import writing
    from bench.paths import results_folder

    failed = writing.write(
        results_folder(results), baseline, candidate, margin=margin, max_regression=max_regression, form=form
    )
    return REGRESSION if failed else 0
