"""bench report: Write an HTML page per session, an index, and a comparison."""

from __future__ import annotations

import traceback
from pathlib import Path

import click

from bench.cli import _complete
from bench.cli._options import results_option


@click.command(name="report")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...", shell_complete=_complete.sessions)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="public",
    show_default=True,
    help="Folder for the pages.",
)
@click.option(
    "--open", "is_opened", is_flag=True,
    help="Open the page in a browser: that of the SESSION, of the comparison, or the index. Without a browser, its path"
    " is the last line.",
)  # fmt: skip
@click.option(
    "--compare",
    is_flag=True,
    help="Also write a page that compares up to 8 SESSIONs; the first is the baseline. A,B is one side.",
)
@click.option("--redact", is_flag=True, help="Leave out host names, paths and command lines.")
@results_option
def command(
    sessions: tuple[str, ...], out: str, is_opened: bool, compare: bool, redact: bool, results: str | None
) -> int:
    """Write a self-contained page for every SESSION, and an index, into the folder --out.

    SESSION is an id, the beginning of one, tag:NAME for all sessions with that tag, @latest, or @-1 for the one before;
    `bench sessions` lists them. Without a SESSION, every session gets a page. With --compare, sessions separated by
    commas count as one side.

    The pages need no network and open from a file:// address. The index also lists pages that earlier calls wrote
    into the folder. Exit code 1: a page could not be made; it is named, and the others are written."""
    from analysis.report import write
    from bench.cli._output import say, tell_unloaded
    from bench.common.errors import InputError
    from bench.common.paths import results_folder

    if not out:
        raise InputError("--out is empty: name a folder for the pages")
    failed: list[str] = []

    def name(page: str, error: Exception) -> None:
        failed.append(page)
        place = traceback.extract_tb(error.__traceback__)[-1]
        say(
            f"error: {page}: this page cannot be made: {type(error).__name__}: {error} "
            f"({Path(place.filename).name}:{place.lineno}). The other pages are written. `bench load` checks the "
            "session's files; if they are right, report this as a defect of bench.",
            err=True,
        )

    folder = results_folder(results)
    tell_unloaded(folder)
    pages = write(folder, sessions, Path(out), compare=compare, redact=redact, on_failure=name)
    for path in pages:
        click.echo(path)
    if is_opened:
        _open(_most_wanted(pages, compare=compare))
    return 1 if failed else 0


def _most_wanted(pages: list[Path], *, compare: bool) -> Path:
    """The comparison, else the page of the only session, else the index, which is the last page."""
    if compare:
        return next((page for page in pages if page.name.startswith("compare-")), pages[-1])
    of_sessions = [page for page in pages[:-1] if not page.name.startswith(("history-", "compare-"))]
    return of_sessions[0] if len(of_sessions) == 1 else pages[-1]


def _open(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        click.echo(f"there is no browser here; open {page.resolve()}")
