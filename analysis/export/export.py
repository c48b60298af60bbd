"""Export a session from a results folder to a stream, a file or a folder of pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import duckdb

from analysis.database import connections
from analysis.errors import AnalysisError
from analysis.export import chart_picture, content, formats, only_cases, relation
from analysis.export.format_types import Page, Pictures, Rows
from analysis.export.output_files import put_all, whole
from analysis.report import named_queries
from analysis.sql.choose_session import choose


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The part of a session to export, its format and its destination."""

    form: str
    """A format's name."""
    view: str | None = None
    """A table or view instead of the summary."""
    chart: str | None = None
    """One chart instead of all."""
    cases: tuple[str, ...] = ()
    """Globs of the cases to export; none exports every case."""
    caption: str | None = None
    """The user's caption of a table, or title of a picture."""
    out: Path | None = None
    """A file, or a folder for several pictures; None: the stream."""


def export(results: Path, session: str | None, wanted: Wanted, stream: BinaryIO) -> list[Path]:
    """Export the session [default: the newest]. Returns the files written; empty if the output went to the stream.

    Raises AnalysisError, with nothing written, if the session, view, chart or case does not exist or has no such
    format."""
    kind = formats.named(wanted.form)
    _check(kind, wanted)
    with connections.reader(results) as connection:
        session_id = choose(connection, session)
        every_case = named_queries.frame(connection, "cases", session_id).get_column("case_name").to_list()
        if wanted.cases:
            only_cases.show_only(connection, session_id, wanted.cases)
        if isinstance(kind, Pictures):
            return _pictures(connection, session_id, every_case, kind, wanted, stream)
        if wanted.out is None:
            _table(connection, session_id, kind, wanted, stream)
            return []
        with whole(wanted.out) as file:
            _table(connection, session_id, kind, wanted, file)
        return [wanted.out]


def _check(kind: Rows | Page | Pictures, wanted: Wanted) -> None:
    is_table = isinstance(kind, Page) and wanted.view == content.OF_TARGETS
    if wanted.view is not None and not isinstance(kind, Rows) and not is_table:
        raise AnalysisError(f"--view is for csv and json, not for {wanted.form}")
    if wanted.chart is not None and not isinstance(kind, Pictures):
        raise AnalysisError(f"--chart is for pdf, png and svg, not for {wanted.form}")
    if wanted.caption is not None and isinstance(kind, Rows):
        raise AnalysisError(f"--caption is for tables and pictures, not for {wanted.form}")
    if wanted.caption is not None and isinstance(kind, Pictures) and wanted.chart is None:
        raise AnalysisError("--caption is for one picture: name it with --chart")
    if wanted.caption is not None and not wanted.caption.strip():
        raise AnalysisError("--caption is empty: give it a text, or leave it out")
    if isinstance(kind, Pictures) and wanted.out is None and wanted.chart is None:
        raise AnalysisError("all charts are several files: give --out DIR, or name one with --chart")


def _table(
    connection: duckdb.DuckDBPyConnection,
    session_id: str,
    kind: Rows | Page,
    wanted: Wanted,
    stream: BinaryIO,
) -> None:
    if isinstance(kind, Page):
        stream.write(kind.write(content.read(connection, session_id, wanted.caption, wanted.view)).encode())
    elif wanted.view is None:
        kind.write(relation.summary(connection, session_id), stream)
    else:
        kind.write(relation.of_view(connection, wanted.view, session_id, of_cases=bool(wanted.cases)), stream)


def _pictures(
    connection: duckdb.DuckDBPyConnection,
    session_id: str,
    cases: Sequence[str],
    kind: Pictures,
    wanted: Wanted,
    stream: BinaryIO,
) -> list[Path]:
    drawn = chart_picture.draw(
        connection, content.read(connection, session_id, wanted.caption), cases, wanted.chart
    )
    files = {f"{name}.{wanted.form}": kind.write(svg, origin) for name, (svg, origin) in drawn.items()}
    if wanted.out is None:
        stream.write(_first(files))
        return []
    if wanted.out.suffix == f".{wanted.form}" and wanted.chart is not None:
        return put_all(wanted.out.parent, {wanted.out.name: _first(files)}, kind)
    return put_all(wanted.out, files, kind)


def _first(files: Mapping[str, bytes]) -> bytes:
    """The chart's picture; if it has several, the one that a page shows first."""
    return next(iter(files.values()))
