"""How many planned runs are ok, and why the others are not: one row per reason."""

from __future__ import annotations

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import details, label, lines, text
from analysis.report.html.render import render
from analysis.tables.column import Column

KINDS = ("oom", "failed", "timeout", "interrupted", "missing", "skipped")
"""Statuses other than ok, the worst first; a `missing` run was planned, but left no result."""
MOST_CASES = 8
"""Cases that a row names; it counts the others."""
_LONG_TEXT = 300
"""Characters of a reason that are not folded."""


def coverage(rows: list[Row], not_ok: list[Row]) -> Markup:
    """A line of counts and, if a run is not ok, a table with the reasons. `rows` and `not_ok` are from
    queries/coverage.sql and not_ok.sql."""
    if not rows:
        return Markup('<p class="empty">Nothing was planned.</p>')
    planned, ok = (sum(row[name] for row in rows) for name in ("planned", "ok"))
    runs = ok + len(not_ok)
    unplanned = Markup()
    if extra := runs - planned:
        beyond = [row for row in rows if sum(row[kind] for kind in ("ok", *KINDS)) > row["planned"]]
        are = "run is" if extra == 1 else "runs are"
        unplanned = Markup(" {:,} {} not in the plan:<br>{}").format(extra, are, _where({"of": beyond}))
    counts = []
    if not_ok:  # zero counts included: they are answers too
        counts = [_counted(planned, "planned"), _counted(ok, "ok", "good")]
        counts += [
            _counted(sum(row["status"] == kind for row in not_ok), kind, _tone(kind)) for kind in KINDS
        ]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in not_ok:
        groups.setdefault((row["status"], row["reason"] or ""), []).append(row)
    reasons = [{"status": status, "reason": reason, "of": of} for (status, reason), of in groups.items()]
    reasons.sort(key=lambda reason: (KINDS.index(reason["status"]), -len(reason["of"])))
    has_ranks = any(row["failed_rank"] is not None for row in not_ok)
    return render(
        "sections/coverage",
        runs=runs,
        ok=ok,
        kind="" if unplanned else "planned ",
        unplanned=unplanned,
        counts=counts,
        columns=[column for column in _COLUMNS if has_ranks or column is not _BEGAN],
        rows=reasons,
    )


def _counted(count: int, kind: str, tone: str = "") -> Markup:
    return Markup("<b>{:,}</b> {}").format(count, label(kind, tone) if count and tone else kind)


def _tone(status: str) -> str:
    return "none" if status == "skipped" else "bad"


def _where(reason: Row) -> Markup:
    """The placements of each case: `ddp 1x4, 1x8`."""
    cases: dict[str, dict[str, None]] = {}
    for row in reason["of"]:
        cases.setdefault(row["case_name"], {})[row["placement"]] = None
    items = [text(case) + " " + text(", ".join(places)) for case, places in cases.items()]
    more = [f"and {len(items) - MOST_CASES:,} more cases"] if len(items) > MOST_CASES else []
    return lines([*items[:MOST_CASES], *more])


def _began(reason: Row) -> Markup | str:
    """The ranks and nodes on which the runs failed: `rank 3 on node 0`."""
    places = {
        (row["failed_rank"], row["failed_node"]): None
        for row in reason["of"]
        if row["failed_rank"] is not None
    }
    items = [f"rank {rank}" + ("" if node is None else f" on node {node}") for rank, node in places]
    more = ["and others"] if len(items) > MOST_CASES else []
    return lines([*items[:MOST_CASES], *more]) or units.UNKNOWN


def _reason(row: Row) -> Markup | str:
    reason: str = row["reason"]
    if not reason:
        return {"missing": "planned, and left no result"}.get(row["status"], units.UNKNOWN)
    block = Markup('<div class="reason">{}</div>')
    if len(reason) <= _LONG_TEXT:
        return block.format(text(reason))
    is_trace = reason.startswith("Traceback")  # its end is the most informative part
    part = f"… {reason[-_LONG_TEXT:].strip()}" if is_trace else f"{reason[:_LONG_TEXT].strip()} …"
    return block.format(text(part)) + details(f"All {len(reason):,} characters", block.format(text(reason)))


_BEGAN = Column("where it began", _began)
_COLUMNS = [
    Column("status", lambda row: label(row["status"], _tone(row["status"]))),
    Column("runs", lambda row: f"{len(row['of']):,}", number=True),
    Column("reason", _reason),
    _BEGAN,
    Column("placements", _where),
]
