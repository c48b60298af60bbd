"""Pages of sessions, from the database into files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis import database
from analysis.report import contents, frames
from analysis.report.bundle import Bundle
from analysis.report.files import page_name, write_whole
from analysis.report.index_page import index_page
from analysis.report.session_page import session_page
from analysis.sessions import choose


def write_pages(results: Path, sessions: Sequence[str], out: Path, bundle: Bundle) -> list[Path]:
    """As analysis.report.write."""
    with database.reader(results) as connection:
        known = frames.frame(connection, "sessions").to_dicts()
        wanted = [choose(connection, name) for name in sessions] or [row["session_id"] for row in known]
        found = [contents.read(connection, session_id) for session_id in dict.fromkeys(wanted)]
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for content in found:
        paths.append(out / page_name(content.session["session_id"]))
        write_whole(paths[-1], session_page(content, bundle.text()))
    index = out / "index.html"
    write_whole(index, index_page(known, lambda session_id: _page_in(out, session_id)))
    return [*paths, index]


def _page_in(out: Path, session_id: str) -> str | None:
    """The page may be from an earlier report."""
    name = page_name(session_id)
    return name if (out / name).is_file() else None
