"""bench export"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class _Format(click.ParamType[str]):
    """A file of analysis/export/formats, looked for when it is asked for."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        from analysis.export import names

        return "|".join(names())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from analysis.export import names

        if value not in names():
            self.fail(f"{value!r} is none of {', '.join(names())}", param, ctx)
        return str(value)


@click.command(name="export", short_help="Write a session as CSV, JSON, Markdown, LaTeX, text or pictures.")
@click.argument("session", required=False)
@click.option("--format", "form", type=_Format(), required=True, help="What to write.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write, of pictures a folder; else standard output.",
)
@click.option(
    "--view",
    "--table",
    metavar="NAME",
    help="Of csv and json: the session's rows of any table or view, in place of its summary.",
)
@click.option(
    "--chart",
    metavar="NAME",
    help="Of png and svg: one picture, by its name; `summary` is the table. Else all.",
)
@click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results.")
def command(session: str | None, form: str, results: str | None, **options: Any) -> None:
    """Write a session, by default the newest, for a paper, a ticket, a merge request, a spreadsheet or a slide.

    csv and json are the rows of the table `scaling` in the order of the suite, with every digit; latex, markdown and
    text the table of `bench summary`, rounded; png and svg the table and every chart of the report as pictures."""
    import sys

    from analysis.errors import AnalysisError
    from analysis.export.run import Wanted, export
    from bench.paths import results_folder

    wanted = Wanted(form=form, **options)
    if form == "png" and wanted.out is None and sys.stdout.isatty():
        raise AnalysisError("a picture is not for a terminal: give --out FILE, or redirect it")
    for path in export(results_folder(results), session, wanted, sys.stdout.buffer):
        click.echo(path)
