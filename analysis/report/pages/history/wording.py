"""Two sentences on a history: the newest session, and all sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from analysis.compare.wording import VERDICTS, ratio
from analysis.database.rows import Row
from analysis.report.pages.history.data import History
from analysis.wording.plain_text import cell, listed

MOST_NAMED = 3
"""The most changes or placements that a sentence names; it counts the others."""


def sentences(history: History, name: Callable[[str], str] = cell) -> list[str]:
    """Plain text; `name` makes untrusted text safe to show."""
    return [" ".join(_newest(history, name)), _overall(history)]


def _newest(history: History, name: Callable[[str], str]) -> Iterator[str]:
    newest = history.newest
    slower = [row for row in history.regressions if row["session_id"] == newest["session_id"]]
    if slower:
        more = f" and {len(slower) - 1:,} more" if len(slower) > 1 else ""
        yield (
            f"The newest session is slower than before: {_place(slower[0], name)} {ratio(slower[0])}{more}, "
            f"of {_placements(newest['judged'])} that can be compared; {_changed(newest, name)}."
        )
    elif newest["judged"]:
        yield (
            f"No regression is certain in the newest session: of {_placements(newest['judged'])} that can be compared "
            f"{_counts(newest)}; {_changed(newest, name)}."
        )
    else:
        yield f"No earlier session is comparable with the newest: {_why_incomparable(newest, name)}."
    if newest["inconclusive"] and newest["inconclusive"] == newest["judged"]:
        yield _undecided(history)


def _undecided(history: History) -> str:
    """Why all rows of the newest session are inconclusive."""
    is_judged = (pl.col("session_id") == history.newest["session_id"]) & pl.col("verdict").is_not_null()
    judged = history.points.filter(is_judged)
    if judged.get_column("ratio_lo").null_count() == judged.height:
        return "Single repeats have no interval: run two or more in both sessions."
    return "Run more repeats in the next session for narrower intervals."


def _place(row: Row, name: Callable[[str], str]) -> str:
    return f"{name(row['panel'])} {row['placement']}"


def _placements(count: int) -> str:
    return f"{count:,} {'placement' if count == 1 else 'placements'}"


def _counts(session: Row) -> str:
    return ", ".join(f"{session[verdict]:,} {verdict}" for verdict in VERDICTS if session[verdict])


def _changed(session: Row, name: Callable[[str], str]) -> str:
    if not session["changes"]:
        return "nothing that must be equal changed"
    return f"changed: {listed(map(name, session['changes'].split('; ')), MOST_NAMED)}"


def _why_incomparable(session: Row, name: Callable[[str], str]) -> str:
    if session["other_settings"]:
        return f"its settings differ ({listed(map(name, session['other_settings'].split('; ')), MOST_NAMED)})"
    if session["measured"] == 0:
        return "no repeat is ok"
    if session["unlike"]:
        return "it ran on another model of device, or with other threads"
    return "none ran the same cases and sizes, or more ranks than slots ran"


def _overall(history: History) -> str:
    oldest, newest = history.sessions[-1], history.sessions[0]
    days = [f"{session['created_at']:%Y-%m-%d}" for session in (oldest, newest)]
    since = f"{len(history.sessions):,} sessions from {days[0]} to {days[1]}"
    found = history.regressions
    if not found:
        return f"{since}: no regression beyond 2 % is certain."
    last = f"session {found[0]['session_order']:,} ({found[0]['began'][:10]})"
    return f"{since}: {_regressions(found)}, the last in {last}{_since(history, found)}."


def _since(history: History, found: Sequence[Row]) -> str:
    """How many placements are still slower than before their last regression, by point estimates."""
    if found[0]["session_id"] == history.newest["session_id"]:
        return ""
    last: dict[Series, Row] = {}
    for row in found:  # newest first
        last.setdefault(_series(row), row)
    measured = history.points.filter(pl.col("throughput").is_not_null()).to_dicts()
    now = {_series(row): row["throughput"] for row in measured}
    still = [series for series, row in last.items() if now[series] < 0.98 * row["throughput"] / row["ratio"]]
    if not still:
        return ", and all have recovered since"
    are = "is" if len(last) == 1 else "are"
    return f"; {len(still):,} of {_placements(len(last))} {are} still slower than before"


Series = tuple[int, str, int]
"""Line, placement and experiment."""


def _series(row: Row) -> Series:
    return row["line"], row["placement"], row["experiment"]


def _regressions(found: Sequence[Row]) -> str:
    sessions = len({row["session_id"] for row in found})
    return (
        f"{len(found):,} {'regression' if len(found) == 1 else 'regressions'} beyond 2 % "
        f"in {sessions:,} {'session' if sessions == 1 else 'sessions'}"
    )
