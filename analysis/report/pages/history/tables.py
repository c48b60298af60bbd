"""The tables of a history: the newest session, regressions, sessions with what changed, every figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import (
    PLACEMENT,
    first_rows,
    folded,
    interval_cell,
    label,
    number_cell,
    short,
    text,
    text_cell,
    unordered,
)
from analysis.report.html.markup import link as linked
from analysis.report.html.render import render
from analysis.report.pages.history.data import History
from analysis.tables.column import Column
from analysis.tables.scaling import throughput_unit
from analysis.wording import numbers, verdicts
from analysis.wording.plain_text import counted

Link = Callable[[str], str | None]
"""The file name of a session's page; None if there is none."""
_MOST_OPEN = 20
"""The most rows of the newest session; if it has more, those that changed most."""
_MOST_ROWS = 300
"""The most rows of all numbers; the CSV has all."""
_CASE = Column("case", text_cell("panel"))
_LEVEL_RATIO = Column(
    "of level [95\u00a0%]",
    interval_cell("level_ratio", "×", apart_from=1, show=numbers.telling_estimate),
    number=True,
)
_RATIO = Column(
    "ratio [95\u00a0%]", interval_cell("ratio", "×", apart_from=1, show=numbers.telling_estimate), number=True
)


def newest(history: History) -> Markup:
    """The newest session's cases and placements with the change since the session before: changes that are certain
    first, then by size."""
    rows = sorted(history.newest_rows, key=_by_change)
    unit = throughput_unit([row for row in rows if row["throughput"] is not None])
    columns = [
        _CASE,
        PLACEMENT,
        Column(f"before, {unit}", number_cell("previous_throughput"), number=True),
        Column("now [95\u00a0%]", interval_cell("throughput", show=numbers.telling_estimate), number=True),
        _RATIO,
        Column("verdict", _verdict),
    ]
    return render(
        "sections/history_newest", columns=columns, rows=rows[:_MOST_OPEN], count=len(rows), most=_MOST_OPEN
    )


def _by_change(row: Row) -> tuple[bool, bool, float]:
    ratio = row["level_ratio"] or row["ratio"]
    size = abs(math.log(ratio)) if ratio else 0.0
    return not (row["regression"] or row["improvement"]), row["verdict"] is None, -size


def regressions(rows: Sequence[Row], link: Link) -> Markup:
    """The regressions, the newest session first; a sentence if there are none."""
    columns = [
        _session_column(link),
        _CASE,
        PLACEMENT,
        _LEVEL_RATIO,
        Column(
            "level of sessions", lambda row: f"{row['level_first_order']:,} to {row['level_last_order']:,}"
        ),
        Column("slower since", lambda row: f"{row['first_order']:,}", number=True),
        Column(
            "changed then",
            lambda row: (
                "not known"
                if row["changes_then"] is None
                else _facts(row["changes_then"] or "nothing that must be equal")
            ),
        ),
    ]
    return render("sections/history_regressions", columns=columns, rows=rows)


def sessions(history: History, link: Link) -> Markup:
    """One row per session, newest first, with what changed."""
    shared = {row["session_id"]: row for row in history.shared}
    columns = [
        _session_column(link),
        Column("placements", _placements),
        Column("verdicts", _verdicts),
        Column("changed: must be equal", lambda row: _facts(row["changes"])),
        Column("changed: settings", lambda row: _facts(row["other_settings"])),
        Column("changed: worth knowing", lambda row: _facts(row["also_changes"])),
    ]
    dated = [
        {**row, "began": units.minute(row["created_at"]), "shared": shared.get(row["session_id"])}
        for row in history.sessions
    ]
    return render("sections/history_sessions", columns=columns, rows=dated)


def figures_table(rows: Sequence[Row], link: Link) -> Markup:
    """Every case, placement and session, newest first, with how to read them."""
    unit = throughput_unit([row for row in rows if row["throughput"] is not None])
    columns = [
        _session_column(link),
        _CASE,
        PLACEMENT,
        Column(
            f"{unit} [95\u00a0%]", interval_cell("throughput", show=numbers.telling_estimate), number=True
        ),
        _RATIO,
        Column("verdict", _verdict),
        Column("efficiency [95\u00a0%]", _efficiency, number=True),
        Column("step", interval_cell("step_ms", "ms", show=numbers.telling_estimate), number=True),
        Column("ok repeats", lambda row: f"{row['repeats']:,} of {row['runs']:,}", number=True),
    ]
    note = first_rows(_MOST_ROWS, len(rows))
    return render("sections/history_figures", columns=columns, rows=rows[:_MOST_ROWS], note=note)


def _session_column(link: Link) -> Column:
    """The session's number (its place in the charts), start and id."""

    def cell(row: Row) -> Markup:
        quick = Markup(' <span class="quick">quick</span>') if row.get("quick") else ""
        return Markup('{:,} · {}{}<span class="below">{}</span>').format(
            row["session_order"], text(row["began"]), quick, _linked(row["session_id"], link)
        )

    return Column("session", cell)


def _linked(session_id: str | None, link: Link) -> str:
    if session_id is None:
        return units.UNKNOWN
    file_name = link(session_id)
    return linked(file_name, short(session_id)) if file_name else short(session_id)


def _facts(facts: str | None) -> str:
    return unordered(map(folded, facts.split("; "))) if facts else units.UNKNOWN


def _placements(row: Row) -> str:
    of_all = f" of {row['placements']:,}" if row["measured"] < row["placements"] else ""
    return f"{row['measured']:,}{of_all}"


def _verdicts(row: Row) -> str:
    """The counts of verdicts."""
    kinds = (
        ("regressions", "regressions", "bad"),
        ("improvements", "improvements", "good"),
        ("same", "same", "none"),
        ("inconclusive", "inconclusive", "none"),
        ("odd", "with an odd run", "none"),
        ("unlike", "unlike", "none"),
        ("first_seen", "for the first time", "none"),
    )
    found = [label(counted(row[name], words), tone) for name, words, tone in kinds if row[name]]
    if of_all := row["shared"]:
        found.insert(
            0, label(f"{of_all['panel']} {of_all['verdict']}", "bad" if of_all["regression"] else "good")
        )
    return Markup(" ").join(found) or units.UNKNOWN


def _verdict(row: Row) -> str:
    if row["regression"]:
        return label("slower: regression", "bad")
    if row["improvement"]:
        return label("faster: improvement", "good")
    if row["oversubscribed"]:
        return label("oversubscribed", "none")
    if row["odd_runs"]:
        return label("odd run: not judged", "none")
    if row["is_alike"] is False:
        return label(f"unlike: {row['unlike']}", "none")
    return label(row["verdict"], "none") if row["verdict"] else units.UNKNOWN


def _efficiency(row: Row) -> str:
    """The efficiency. A baseline is compared with itself, so it has no interval."""
    if row["is_baseline"] or row["scaling_mode"] == "none":
        return units.UNKNOWN
    return units.with_interval(
        row["efficiency"],
        row["efficiency_lo"],
        row["efficiency_hi"],
        "%",
        100,
        show=verdicts.efficiency_estimate,
    )
