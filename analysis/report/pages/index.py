"""The index: the list of sessions with filters, and links to their pages, histories and comparisons."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import short, text
from analysis.report.pages.comparison.data import Sides, flat, letter_of
from analysis.report.pages.frame import asset, document
from analysis.report.sections.summary_table import efficiency, verdict
from analysis.wording.plain_text import counted

Link = Callable[[str], str | None]
"""The file name of a session's page; None if there is none."""

_NO_VERDICT = "no verdict"
_HEADINGS = {
    "title": "session",
    "began": "began (UTC)",
    "size": "largest judged size",
    "efficiency": "efficiency [95 %]",
    "verdict": "verdict",
    "runs": "runs ok",
    "device": "device",
}
_BELOW = Markup('{}<span class="below">{}</span>')


def index_page(
    sessions: Sequence[Row],
    link: Link,
    comparisons: Mapping[str, str],
    compared: Mapping[str, Sides] = MappingProxyType({}),
    *,
    histories: Mapping[str, str] = MappingProxyType({}),
    out: str,
) -> str:
    """The HTML. `sessions` are rows of queries/sessions.sql; `out` is the pages' folder as the user named it. By file
    name of the page: `comparisons` has titles, `compared` the sides with the baseline first, and `histories` suites."""
    counts = Counter(row["suite"] for row in sessions)
    filters = {
        "suite": {row["suite"] for row in sessions},
        "tag": {tag for row in sessions for tag in row["tags"] or []},
        "verdict": {row["verdict"] or _NO_VERDICT for row in sessions},
    }
    return document(
        "index",
        title="Sessions",
        scripts=[asset("index.js")] if sessions else [],
        styles=["index"],
        headings=_HEADINGS,
        unknown=units.UNKNOWN,
        filters={name: sorted(values) for name, values in filters.items()},
        sessions=[
            {
                "suite": row["suite"],
                "judged": row["verdict"] or _NO_VERDICT,
                "title": row["title"] or row["suite"],
                "quick": row["quick"],
                "tags": row["tags"] or [],
                "session_id": row["session_id"],
                "file_name": link(row["session_id"]),
                "command": shlex.join(["bench", "report", row["session_id"], "--out", out]),
                "cells": _cells(row),
            }
            for row in sessions
        ],
        histories=[
            (file_name, suite, f"{counts[suite]:,} {'session' if counts[suite] == 1 else 'sessions'}")
            for file_name, suite in histories.items()
        ],
        comparisons=[
            (file_name, title, _ids(compared.get(file_name, ()))) for file_name, title in comparisons.items()
        ],
    )


def _cells(row: Row) -> dict[str, str]:
    began = size = share = units.UNKNOWN
    if row["created_at"]:
        began = Markup('<span class="day">{:%Y-%m-%d}</span><span class="below">{:%H:%M}</span>').format(
            row["created_at"], row["created_at"]
        )
    if row["workers"] is not None:
        size = _BELOW.format(short(row["case_name"]), counted(row["workers"], row["axis"]))
        if row["speedup"] is not None:
            share = _BELOW.format(efficiency(row), f"speedup {units.with_unit(row['speedup'], '×')}")
    ok, skipped, runs = row["ok"] or 0, row["skipped"] or 0, row["runs"] or 0
    runs_ok: str = f"{ok:,} of {runs:,}"
    if ok + skipped < runs:  # skipped runs are not a problem
        runs_ok = Markup('<span class="few">{}</span>').format(runs_ok)
    if skipped:
        runs_ok = _BELOW.format(runs_ok, f"{skipped:,} skipped")
    return {
        "began": began,
        "size": size,
        "efficiency": share,
        "verdict": verdict({**row, "scaling_mode": "none"}),
        "runs": runs_ok,
        "device": short(row["devices"]) if row["devices"] else units.UNKNOWN,
    }


def _ids(sides: Sides) -> Markup:
    """The ids of the sides; they distinguish comparisons with the same title."""
    return Markup(" · ").join(
        f"{letter_of(place)} " + text(session_id) for place, session_id in enumerate(flat(sides))
    )
