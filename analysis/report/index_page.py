"""The list of sessions that leads to their pages, with filters, and the comparisons between them."""

from __future__ import annotations

import html
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from analysis.fetched import Row
from analysis.report import units
from analysis.report.compare.groups import Sides, flat, letter_of
from analysis.report.document import BASE_STYLES, asset, document
from analysis.report.markup import LONGEST, attribute, cut, section, short, text, unordered
from analysis.report.summary_table import efficiency, verdict
from analysis.verdicts import told

Link = Callable[[str], str | None]
"""The file name of a session's page, null where there is none."""

_NO_VERDICT = "no verdict"
_HEADS = {
    "title": "session",
    "began": "began (UTC)",
    "size": "largest judged size",
    "efficiency": "efficiency [95 %]",
    "verdict": "verdict",
    "runs": "runs ok",
    "device": "device",
}


def index_page(
    sessions: Sequence[Row],
    link: Link,
    comparisons: Mapping[str, str],
    compared: Mapping[str, Sides] = MappingProxyType({}),
    *,
    histories: Mapping[str, str] = MappingProxyType({}),
    out: str,
) -> str:
    """HTML; `sessions` of queries/sessions.sql; `comparisons` are titles by the file name of their page, and
    `compared` the ids of their sessions, the baseline first; `histories` are suites by the file name of their page;
    `out` is the folder that the page is written into."""
    body = (
        '<header class="page"><h1>scalebench: sessions</h1><p class="facts">Newest first. Speedup and efficiency are '
        "those of the largest judged size, strong scaling first.</p></header>"
        f'<main class="index"><section aria-label="Sessions">{_list(sessions, link, out)}</section>'
        f"{section('histories', 'Suites over their sessions', _histories(histories, sessions))}"
        f"{section('comparisons', 'Comparisons', _comparisons(comparisons, compared))}</main><footer></footer>"
    )
    scripts = [asset("index.js")] if sessions else []
    return document(title="Sessions · scalebench", body=body, scripts=scripts, styles=(*BASE_STYLES, "index"))


def _list(sessions: Sequence[Row], link: Link, out: str) -> str:
    if not sessions:
        return '<p class="empty">The database holds no session.</p>'
    count = "1 session" if len(sessions) == 1 else f"All {len(sessions):,} sessions"
    heads = "".join(f'<th scope="col" class="{name}">{label}</th>' for name, label in _HEADS.items())
    rows = "\n".join(_row(row, link, out) for row in sessions)
    return (
        f'{_filters(sessions)}<p class="shown" role="status">{count}</p>'
        '<p class="empty none-shown" hidden>No session fits these filters.</p>'
        '<table class="sessions"><caption class="unseen">Sessions: one row each, newest first</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _filters(sessions: Sequence[Row]) -> str:
    """Outside a form: Enter must not send anything."""
    if len(sessions) == 1:
        return ""
    choices = {
        "suite": {row["suite"] for row in sessions},
        "tag": {tag for row in sessions for tag in row["tags"] or []},
        "verdict": {told(row) or _NO_VERDICT for row in sessions},
    }
    selects = "".join(_select(name, values) for name, values in choices.items())
    return (
        '<div class="filters screen-only" role="search" aria-label="Filter the sessions">'
        f'<label class="words">search<input type="search" name="words" autocomplete="off"></label>{selects}'
        '<button type="button" class="clear">Clear</button></div>'
    )


def _select(name: str, values: Iterable[str]) -> str:
    # With the attribute, because an option's own text loses the spaces at its ends.
    options = "".join(
        f'<option value="{attribute(value)}">{html.escape(cut(value, LONGEST))}</option>'
        for value in sorted(values)
    )
    return f'<label>{name}<select name="{name}"><option value="">all</option>{options}</select></label>'


def _row(row: Row, link: Link, out: str) -> str:
    suite, judged = attribute(row["suite"]), attribute(told(row) or _NO_VERDICT)
    cells = "".join(_cell(name, content) for name, content in _cells(row).items())
    return (
        f'<tr data-suite="{suite}" data-verdict="{judged}">'
        f'<th scope="row" class="title">{_title(row, link, out)}</th>{cells}</tr>'
    )


def _title(row: Row, link: Link, out: str) -> str:
    """The id tells apart what has the same title."""
    name, file_name = short(row["title"] or row["suite"]), link(row["session_id"])
    shown = f'<a href="{attribute(file_name)}">{name}</a>' if file_name else name
    quick = ' <span class="tag quick">quick</span>' if row["quick"] else ""
    tags = "".join(map(_tag, row["tags"] or []))
    below = f'<span class="below">{text(row["session_id"])}</span>'
    return f"{shown}{quick}{tags}{below}{'' if file_name else _no_page(row['session_id'], out)}"


def _no_page(session_id: str, out: str) -> str:
    """`out` as it was given: what ran here once runs here again."""
    command = shlex.join(["bench", "report", session_id, "--out", out])
    return f'<span class="below">no page: <code>{text(command)}</code></span>'


def _tag(tag: str) -> str:
    """The filter compares the whole of it."""
    whole = f' data-tag="{attribute(tag)}"' if len(tag) > LONGEST else ""
    return f' <span class="tag"{whole}>{short(tag)}</span>'


def _cell(name: str, content: str) -> str:
    kinds = f"{name} unknown" if content == units.UNKNOWN else name
    return f'<td class="{kinds}">{content}</td>'


def _cells(row: Row) -> dict[str, str]:
    return {
        "began": _began(row) if row["created_at"] else units.UNKNOWN,
        "size": units.UNKNOWN if row["workers"] is None else _size(row),
        "efficiency": units.UNKNOWN if row["workers"] is None else _efficiency(row),
        "verdict": verdict({**row, "scaling": "none"}),
        "runs": _runs(row),
        "device": short(row["devices"]) if row["devices"] else units.UNKNOWN,
    }


def _began(row: Row) -> str:
    return f'<span class="day">{row["created_at"]:%Y-%m-%d}</span><span class="below">{row["created_at"]:%H:%M}</span>'


def _size(row: Row) -> str:
    axis = row["axis"].removesuffix("s") if row["workers"] == 1 else row["axis"]
    return f'{short(row["case_name"])}<span class="below">{row["workers"]:,} {axis}</span>'


def _efficiency(row: Row) -> str:
    speedup = units.with_unit(row["speedup"], "×")
    return f'{efficiency(row)}<span class="below">speedup {speedup}</span>'


def _runs(row: Row) -> str:
    """What this machine could not host is said, and is no trouble."""
    ok, skipped, runs = row["ok"] or 0, row["skipped"] or 0, row["runs"] or 0
    shown = f"{ok:,} of {runs:,}"
    below = f'<span class="below">{skipped:,} skipped</span>' if skipped else ""
    return (shown if ok + skipped == runs else f'<span class="few">{shown}</span>') + below


def _histories(histories: Mapping[str, str], sessions: Sequence[Row]) -> str:
    counts = Counter(row["suite"] for row in sessions)
    return unordered(
        f'<a href="{attribute(file_name)}">{text(suite)}</a>'
        f'<span class="below">{counts[suite]:,} {"session" if counts[suite] == 1 else "sessions"}</span>'
        for file_name, suite in histories.items()
    )


def _comparisons(comparisons: Mapping[str, str], compared: Mapping[str, Sides]) -> str:
    """The ids tell apart what has the same title."""
    return unordered(
        f'<a href="{attribute(file_name)}">{text(title)}</a>{_ids(compared.get(file_name, ()))}'
        for file_name, title in comparisons.items()
    )


def _ids(sides: Sides) -> str:
    ids = " · ".join(f"{letter_of(place)} {text(session_id)}" for place, session_id in enumerate(flat(sides)))
    return f'<span class="below">{ids}</span>' if ids else ""
