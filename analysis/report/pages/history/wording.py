"""The finding of a history in one line, and the lines on what changed, what is undecided, and all sessions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from analysis.compare.wording import ratio
from analysis.database.rows import Row
from analysis.report.pages.history.data import History
from analysis.tables.scaling import throughput_unit
from analysis.wording import verdicts
from analysis.wording.numbers import estimate, is_too_wide
from analysis.wording.plain_text import cell, counted, listed

MOST_NAMED = 3
"""The most changes or placements that a sentence names; it counts the others."""
Name = Callable[[str], str]
"""Makes untrusted text safe to show."""


def sentences(history: History, name: Name = cell) -> list[str]:
    """All lines as plain text, the headline first."""
    lines = [headline(history, name), changes(history, name)]
    if open_ones := undecided(history, name):
        lines.append(f"Undecided: {open_ones}")
    return [*filter(None, lines), overall(history)]


def headline(history: History, name: Name = cell) -> str:
    """The changes of the newest session. Only changes of level count, see `history_changes`, and
    placements without an ok repeat."""
    judged = history.judged
    if not judged:
        return _incomparable(history, name)
    before = _before(history)
    slower, faster = history.changed("regression"), history.changed("improvement")
    unit = throughput_unit(judged)
    said = [shared_change(row, name) for row in history.newly_shared]
    level = ""
    for rows, word in ((slower, "fewer"), (faster, "more")):
        if rows:
            than = f" than in {_level(rows)}{_since_when(rows)}"
            said.append(f"{_group(rows, f'{word} {unit}', name)}{than if than != level else ''}")
            level = than
    if lost := [_place(row, name) for row in history.lost]:
        verb = "has" if len(lost) == 1 else "have"
        said.append(f"{listed(lost, MOST_NAMED)} {verb} no ok repeat, unlike in {before}")
    if said:
        unchanged = 0 if history.newly_shared else sum(row["verdict"] == "same" for row in judged)
        said.append(f"{counted(unchanged, 'others')} unchanged" if unchanged else "")
    else:
        said = [_nothing_certain(judged, before)]
    return f"{'; '.join(filter(None, [*said, _busy(history)]))}."


def shared_change(row: Row, name: Name = cell) -> str:
    """`all 12 cases are 3.1 % slower: something that they share; changed: torch: 2.14.0 → 2.15.0`."""
    same = ", as code and software are the same" if row["cause"] == "the machine" else ""
    changed = {None: "; what changed is not known", "": ""}.get(
        row["changes"], f"; changed: {_facts(row['changes'] or '', name)}"
    )
    moved = f"{row['panel']} are {_percent(row)} {row['verdict']} than in {_level([row])}{_since_when([row])}"
    return f"{moved}: {row['cause']}{same}{changed}"


def _level(rows: Sequence[Row]) -> str:
    """The sessions of the level that these rows left."""
    levels = {(row["level_first_order"], row["level_last_order"]) for row in rows}
    if len(levels) > 1:
        return "earlier sessions"
    ((first, last),) = levels
    return f"session {last:,}" if first == last else f"sessions {first:,} to {last:,}"


def _since_when(rows: Sequence[Row]) -> str:
    """A clause if the change began before the newest session."""
    firsts = {row["first_order"] for row in rows}
    if len(firsts) > 1 or firsts == {row["session_order"] for row in rows}:
        return ""
    return f", since session {firsts.pop():,}"


def _busy(history: History) -> str:
    """A clause if other work kept the machine busy in a compared session: a change may come from that."""
    compared = {row["previous_session_id"] for row in history.judged}
    named = [
        f"{session['session_order']:,}"
        for session in reversed(history.sessions)
        if session["is_busy"] and session["session_id"] in {history.newest["session_id"], *compared}
    ]
    if not named:
        return ""
    *first, last = named
    numbers = f"sessions {', '.join(first)} and {last}" if first else f"session {last}"
    return f"the machine was busy with other work in {numbers}"


def changes(history: History, name: Name = cell) -> str:
    """Changes besides the speed; empty if the newest session is compared with none."""
    if not history.judged:
        return ""
    newest, before = history.newest, _before(history, dated=True)
    if newest["changes"]:
        said = f"Changed since {before}: {_facts(newest['changes'], name)}."
    elif newest["changes_unknown"]:
        said = f"What changed since {before} is not known: a session has no fingerprint."
    else:
        said = f"Nothing that must be equal changed since {before}."
    if newest["unlike"]:
        why = (
            _facts(newest["other_settings"], name)
            if newest["other_settings"]
            else "another device or threads"
        )
        said += f" Not comparable: {counted(newest['unlike'], 'placements')} ({why})."
    if odd := [_place(row, name) for row in history.newest_rows if row["odd_runs"]]:
        said += f" Not judged, because a run is odd: {listed(odd, MOST_NAMED)}."
    return said


def _facts(facts: str, name: Name) -> str:
    return listed(map(name, facts.split("; ")), MOST_NAMED)


def undecided(history: History, name: Name = cell) -> str:
    """The changes that the newest session leaves open; empty if there are none."""
    open_ones = [row for row in history.judged if row["verdict"] == "inconclusive"]
    open_ones.sort(key=lambda row: -abs(math.log(row["ratio"])))
    if not open_ones:
        return ""
    said = f"whether {_with_ratios(open_ones, name)} changed by more than 2 %."
    if all(row["ratio_lo"] is None for row in history.judged):
        return f"{said} None has an interval: run three repeats or more."
    return said


def _with_ratios(rows: Sequence[Row], name: Name) -> str:
    return listed((f"{_place(row, name)} ({ratio(row)})" for row in rows), MOST_NAMED)


def _nothing_certain(judged: Sequence[Row], before: str) -> str:
    same = sum(row["verdict"] == "same" for row in judged)
    if same == len(judged):
        all_of_them = {1: "its one placement is", 2: "both placements are"}.get(
            same, f"all {same:,} placements are"
        )
        return f"Nothing changed since {before}: {all_of_them} as fast within 2 %"
    unchanged = f": {same:,} of {counted(len(judged), 'placements')} unchanged" if same else ""
    return f"No change beyond 2 % is certain since {before}{unchanged}"


def _group(rows: Sequence[Row], more_examples: str, name: Name) -> str:
    """`ddp 1x2 trains 12 % fewer examples/s`; of many, the number and the largest."""
    sure = [row for row in rows if not _is_too_noisy(row)]
    noisy = [_place(row, name) for row in rows if _is_too_noisy(row)]
    said = []
    if len(sure) > MOST_NAMED:
        largest = f"{_place(sure[0], name)}: {_percent(sure[0])}"
        said.append(f"{len(sure):,} placements train {more_examples} ({largest})")
    elif sure:
        others = "".join(f", {_place(row, name)} {_percent(row)}" for row in sure[1:])
        said.append(f"{_place(sure[0], name)} trains {_percent(sure[0])}{others} {more_examples}")
    if noisy:
        verb = "trains" if len(noisy) == 1 else "train"
        said.append(f"{listed(noisy, MOST_NAMED)} {verb} {more_examples} ({verdicts.TOO_NOISY} how many)")
    return "; ".join(said)


def _is_too_noisy(row: Row) -> bool:
    return is_too_wide(row["level_ratio_lo"], row["level_ratio_hi"])


def _percent(row: Row) -> str:
    """The change without its sign, with the digits that its interval supports."""
    value, *ends = (100 * abs(row[f"level_ratio{end}"] - 1) for end in ("", "_lo", "_hi"))
    return f"{estimate(value, min(ends), max(ends), digits=2)[0]} %"


def _before(history: History, *, dated: bool = False) -> str:
    """The session that the newest one is compared with, `session 3` or `session 3 (2026-11-23)`."""
    ids = {row["previous_session_id"] for row in history.judged}
    before = [session for session in history.sessions if session["session_id"] in ids]
    if len(before) != 1:
        return "the sessions before"
    (found,) = before
    return f"session {found['session_order']:,}" + (f" ({found['created_at']:%Y-%m-%d})" if dated else "")


def _place(row: Row, name: Name) -> str:
    return f"{name(row['panel'])} {row['placement']}"


def _incomparable(history: History, name: Name) -> str:
    if len(history.sessions) == 1:
        return "One session so far, so there is nothing to compare it with."
    return f"No earlier session is comparable with the newest: {_why_incomparable(history, name)}."


def _why_incomparable(history: History, name: Name) -> str:
    session, *earlier = history.sessions
    if session["other_settings"]:
        return f"its settings differ ({_facts(session['other_settings'], name)})"
    if session["measured"] == 0:
        return "no repeat is ok"
    if all(row["odd_runs"] for row in history.newest_rows if row["throughput"] is not None):
        return "every placement has an odd run"
    if session["unlike"]:
        return "it ran on another model of device, or with other threads"
    if all(one["quick"] != session["quick"] for one in earlier):
        here, there = ("quick", "full") if session["quick"] else ("full", "quick")
        return f"it is a {here} session, and every earlier one was {there}"
    return "none ran the same cases, with the same scaling, at the same sizes, or more ranks than slots ran"


def overall(history: History) -> str:
    """The regressions of all sessions."""
    since = " ".join(_span(history))
    found = history.regressions
    if not found:
        return f"{since}: no regression beyond 2 % is certain."
    last = f"session {found[0]['session_order']:,} ({found[0]['began'][:10]})"
    return f"{since}: {_regressions(found)}, the last in {last}{_since(history, found)}."


def _span(history: History) -> Iterator[str]:
    yield counted(len(history.sessions), "sessions")
    oldest, newest = (f"{history.sessions[place]['created_at']:%Y-%m-%d}" for place in (-1, 0))
    yield f"on {newest}" if oldest == newest else f"from {oldest} to {newest}"


def _since(history: History, found: Sequence[Row]) -> str:
    """How many placements are still slower than before their last regression, by point estimates; empty if a regression
    is of all together, which the table shows."""
    if found[0]["session_id"] == history.newest["session_id"] or any(
        row["throughput"] is None for row in found
    ):
        return ""
    last: dict[Series, Row] = {}
    for row in found:  # newest first
        last.setdefault(_series(row), row)
    if not last:
        return ""
    measured = history.points.filter(history.points["throughput"].is_not_null()).to_dicts()
    now = {_series(row): row["throughput"] for row in measured}
    still = [
        series for series, row in last.items() if now[series] < 0.98 * row["throughput"] / row["level_ratio"]
    ]
    if not still:
        return ", and all have recovered since"
    are = "is" if len(still) == 1 else "are"
    return f"; {len(still):,} of {counted(len(last), 'placements')} {are} still slower than before"


Series = tuple[int, str, int]
"""Line, placement and experiment."""


def _series(row: Row) -> Series:
    return row["line"], row["placement"], row["experiment"]


def _regressions(found: Sequence[Row]) -> str:
    sessions = len({row["session_id"] for row in found})
    return f"{counted(len(found), 'regressions')} beyond 2 % in {counted(sessions, 'sessions')}"
