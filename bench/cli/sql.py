"""bench sql"""

from __future__ import annotations

from typing import BinaryIO

import click


@click.command(name="sql")
@click.argument("query")
@click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    default="table",
    show_default=True,
    help="How the rows are written.",
)
@click.option(
    "--rows", type=click.IntRange(min=0), default=40, show_default=True, help="Of a table; 0 shows all."
)
@click.option(
    "--out", type=click.File("wb", lazy=True), default="-", help="File to write; else standard output."
)
def command(query: str, results: str | None, form: str, rows: int, out: BinaryIO) -> None:
    """Ask results.duckdb a question: bench sql "FROM scaling". It only reads."""
    import shutil
    import sys

    from analysis import output
    from analysis.query import run
    from bench.paths import results_folder

    width = shutil.get_terminal_size().columns if out.name == "-" and sys.stdout.isatty() else None
    with run(results_folder(results), query) as relation:
        if form == "table":
            output.write_table(relation, out, rows=rows, width=width)
        else:
            output.WRITERS[form](relation, out)
