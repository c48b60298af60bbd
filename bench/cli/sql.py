"""bench sql: Query the database."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli._options import format_option, results_option

if TYPE_CHECKING:
    import duckdb


@click.command(name="sql")
@click.argument("query")
@results_option
@format_option("table", "csv", "json", "parquet")
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=40,
    show_default=True,
    metavar="N",
    help="Rows of a table to show; 0 shows all.",
)
@click.option(
    "--full",
    is_flag=True,
    help="On a terminal, show every column and whole cells of a table that is too wide.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, allow_dash=True),
    default="-",
    help="File to write.  [default: standard output]",
)
@click.option(
    "--direct",
    is_flag=True,
    help="Query the result files instead of the database. A bad file is named, and the exit code is 1.",
)
@click.option(
    "--session",
    "sessions",
    multiple=True,
    metavar="ID",
    help="With --direct: read only sessions whose id is or begins with ID, or tag:NAME, @latest, @-1; repeatable.",
)
@click.option(
    "--suite",
    "suites",
    multiple=True,
    metavar="NAME",
    help="With --direct: read only sessions of this suite; repeatable.",
)
def command(
    query: str,
    results: str | None,
    form: str,
    rows: int,
    full: bool,
    out: Path,
    direct: bool,
    sessions: tuple[str, ...],
    suites: tuple[str, ...],
) -> int:
    """Query results.duckdb, as in: bench sql "FROM scaling". The database is opened read-only."""
    from analysis.sql.query import run, run_on_files
    from bench.cli._output import say, tell_unloaded
    from bench.common.errors import InputError
    from bench.common.paths import results_folder

    folder = results_folder(results)
    if not direct:
        if sessions or suites:
            raise InputError(
                "--session and --suite need --direct; with a database use WHERE session_id = ..."
            )
        tell_unloaded(folder)
        with run(folder, query) as relation:
            _write(relation, form, rows, out, full=full)
        return 0
    from analysis.sql.query_files import SessionFilter

    with run_on_files(folder, query, SessionFilter(sessions=sessions, suites=suites)) as (relation, problems):
        for problem in problems:
            say(f"left out: {problem.path}: {problem.reason}", err=True)
        _write(relation, form, rows, out, full=full)
        return 1 if problems else 0


def _write(relation: duckdb.DuckDBPyRelation, form: str, rows: int, out: Path, *, full: bool) -> None:
    import sys

    from analysis.export.output_files import whole
    from analysis.sql import output
    from bench.common.terminal import width_of

    is_shown = str(out) == "-"
    with nullcontext(sys.stdout.buffer) if is_shown else whole(out) as stream:
        if form == "table":
            width = width_of(sys.stdout) if is_shown else None
            output.write_table(relation, stream, rows=rows, width=width, full=full)
        else:
            output.WRITERS[form](relation, stream)
