"""bench export: Write a session as CSV, JSON, Markdown, LaTeX or pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bench.cli import _complete
from bench.cli._options import options_named, results_option


class _Format(click.ParamType):  # type: ignore[type-arg] # click 8.1 has none
    """The name of a file in analysis/export/formats, which is searched only when this command runs."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002 - click 8.1 gives no context
        from analysis.export import names

        return "|".join(names())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from analysis.export import names

        if value not in names():
            self.fail(f"{value!r} is not one of {', '.join(names())}", param, ctx)
        return str(value)


@click.command(name="export")
@click.argument("session", required=False, shell_complete=_complete.sessions)
@click.option("--format", "form", type=_Format(), help="Output format.  [default: by the ending of --out]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write; for pictures a folder.  [default: standard output]",
)
@click.option(
    "--view",
    "--table",
    metavar="NAME",
    help="With csv and json: any table or view with a session_id.  [default: scaling]",
)
@click.option(
    "--chart",
    metavar="NAME",
    help="With pdf, png and svg: one chart by name.  [default: all]",
)
@options_named("cases")
@click.option(
    "--caption",
    metavar="TEXT",
    help="Caption of the table, or title of the picture of --chart.  [default: conclusion or question]",
)
@results_option
def command(session: str | None, form: str | None, results: str | None, **options: Any) -> None:
    """Write a session, by default the newest, for a paper, a merge request, a spreadsheet or a slide.

    csv and json have the rows of the table `scaling` in the suite's order, with all digits. latex and
    markdown have the rounded table of `bench summary`. pdf, png and svg are pictures of the charts of the report.

    SESSION is an id, the beginning of one, tag:NAME for the newest session with that tag, @latest, or @-1 for the one
    before; `bench sessions` lists them."""
    import sys

    from analysis.errors import AnalysisError
    from analysis.export.export import Wanted, export
    from bench.common.paths import results_folder

    form = form or _of_ending(options["out"])
    wanted = Wanted(form=form, **options)
    if form in ("pdf", "png") and wanted.out is None and sys.stdout.isatty():
        raise AnalysisError("a picture cannot be shown in a terminal: give --out FILE, or redirect it")
    for path in export(results_folder(results), session, wanted, sys.stdout.buffer):
        click.echo(path)


_ENDINGS = {"tex": "latex", "md": "markdown"}
"""Endings of files that are not the format's name."""


def _of_ending(out: Path | None) -> str:
    """The format of a file with this name. Raises InputError if the name does not say it."""
    from analysis.export import names
    from bench.common.errors import InputError

    ending = "" if out is None else out.suffix.removeprefix(".").lower()
    form = _ENDINGS.get(ending, ending)
    if form not in names():
        place = "there is no --out" if out is None else f"--out {out} has no ending that says it"
        raise InputError(
            f"the format is not known: {place}: give --format {'|'.join(names())}, or a file such as --out table.tex"
        )
    return form
