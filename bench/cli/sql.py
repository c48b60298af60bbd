"""bench sql"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import duckdb


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
    "--out",
    type=click.Path(path_type=Path, allow_dash=True),
    default="-",
    help="File to write; else standard output.",
)
@click.option(
    "--direct",
    is_flag=True,
    help="Ask the result files themselves, no database. A bad file is named, and the exit code is 1.",
)
@click.option(
    "--session",
    "sessions",
    multiple=True,
    metavar="ID",
    help="With --direct: read this session alone, or those whose ids begin so. Repeatable.",
)
@click.option(
    "--suite",
    "suites",
    multiple=True,
    metavar="NAME",
    help="With --direct: read the sessions of this suite alone. Repeatable.",
)
def command(
    query: str,
    results: str | None,
    form: str,
    rows: int,
    out: Path,
    direct: bool,
    sessions: tuple[str, ...],
    suites: tuple[str, ...],
) -> int:
    """Ask results.duckdb a question: bench sql "FROM scaling". It only reads."""
    from analysis.query import run, run_direct
    from bench.cli._said import say
    from bench.errors import InputError
    from bench.paths import results_folder

    folder = results_folder(results)
    if not direct:
        if sessions or suites:
            raise InputError("--session and --suite go with --direct; a database has WHERE session_id = ...")
        with run(folder, query) as relation:
            _write(relation, form, rows, out)
        return 0
    from analysis.direct import Chosen

    with run_direct(folder, query, Chosen(sessions=sessions, suites=suites)) as (relation, problems):
        for problem in problems:
            say(f"left out: {problem.path}: {problem.reason}", err=True)
        _write(relation, form, rows, out)
        return 1 if problems else 0


def _write(relation: duckdb.DuckDBPyRelation, form: str, rows: int, out: Path) -> None:
    import shutil
    import sys

    from analysis import output
    from analysis.export.files import whole

    is_shown = str(out) == "-"
    with nullcontext(sys.stdout.buffer) if is_shown else whole(out) as stream:
        if form == "table":
            width = shutil.get_terminal_size().columns if is_shown and sys.stdout.isatty() else None
            output.write_table(relation, stream, rows=rows, width=width)
        else:
            output.WRITERS[form](relation, stream)
