"""A session's page for an archive, where it can be made."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from bench.cli._said import say


def page_of(session: Path, folder: Path) -> Path | None:
    """The page of a session, written into a folder; null, and a line on stderr, where it is in no database."""
    if importlib.util.find_spec("duckdb") is None or importlib.util.find_spec("altair") is None:
        click.echo("bench: no report: duckdb and altair are not installed here", err=True)
        return None
    from analysis.errors import AnalysisError
    from analysis.report import write

    try:
        write(session.parent, [session.name], folder)
    except AnalysisError as error:
        say(f"bench: no report: {error}", err=True)
        return None
    return next(path for path in folder.glob("*.html") if path.name != "index.html")
