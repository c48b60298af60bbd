"""The list of sessions that leads to their pages."""

from __future__ import annotations

from collections.abc import Callable

from analysis.report import units
from analysis.report.document import document
from analysis.report.markup import Column, Row, attribute, table, text
from analysis.report.summary_table import efficiency, verdict


def index_page(sessions: list[Row], link: Callable[[str], str | None]) -> str:
    """HTML; `sessions` of queries/sessions.sql; `link` gives the file name of a session's page, null where none is."""
    count = f"{len(sessions):,} {'session' if len(sessions) == 1 else 'sessions'}"
    body = (
        f'<header class="page"><h1>Scaling, measured</h1><p class="facts">{count}, newest first. Speedup and '
        "efficiency are those of the largest judged size, strong scaling first.</p></header>"
        f'<main class="index"><section aria-label="Sessions">{_table(sessions, link)}</section></main><footer></footer>'
    )
    return document(title="Sessions · scalebench", body=body)


def _table(sessions: list[Row], link: Callable[[str], str | None]) -> str:
    if not sessions:
        return '<p class="empty">The database holds no session.</p>'

    def title(row: Row) -> str:
        name = text(row["title"] or row["suite"])
        file_name = link(row["session_id"])
        quick = " (quick)" if row["quick"] else ""
        tags = f' <span class="interval">{text(", ".join(row["tags"]))}</span>' if row["tags"] else ""
        return (
            f'<a href="{attribute(file_name)}">{name}</a>{quick}{tags}'
            if file_name
            else f"{name}{quick}{tags}"
        )

    return table(
        "Sessions: one row each, newest first", [Column(label="session", cell=title), *_COLUMNS], sessions
    )


def _size(row: Row) -> str:
    if row["workers"] is None:
        return units.UNKNOWN
    axis = row["axis"].removesuffix("s") if row["workers"] == 1 else row["axis"]
    return f"{row['workers']} {axis}"


_COLUMNS = [
    Column(
        label="began (UTC)",
        cell=lambda row: f"{row['created_at']:%Y-%m-%d %H:%M}" if row["created_at"] else units.UNKNOWN,
        numeric=True,
    ),
    Column(label="case", cell=lambda row: text(row["case_name"]) if row["case_name"] else units.UNKNOWN),
    Column(label="size", cell=_size, numeric=True),
    Column(label="speedup", cell=lambda row: units.with_unit(row["speedup"], "×"), numeric=True),
    Column(label="efficiency [95 %]", cell=efficiency, numeric=True),
    Column(label="verdict", cell=lambda row: verdict({**row, "scaling": "none"})),
    Column(label="runs ok", cell=lambda row: f"{row['ok'] or 0} of {row['planned'] or 0}", numeric=True),
    Column(label="device", cell=lambda row: text(row["devices"]) if row["devices"] else units.UNKNOWN),
    Column(label="id", cell=lambda row: text(row["session_id"])),
]
