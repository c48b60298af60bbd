"""What was planned and what became of it."""

from __future__ import annotations

from analysis.report import units
from analysis.report.markup import Column, Row, table, text

_KINDS = ("oom", "failed", "timeout", "interrupted", "skipped", "missing")
"""In which a run can be other than ok; `missing` was planned and left no result."""


def coverage(rows: list[Row]) -> str:
    """One sentence; where a run is not ok, a table of those placements with the reasons."""
    planned, ok = (sum(row[name] for row in rows) for name in ("planned", "ok"))
    if not rows:
        return '<p class="empty">Nothing was planned.</p>'
    lost = [row for row in rows if any(row[kind] for kind in _KINDS)]
    if not lost:
        return f"<p>All {planned} planned runs are ok.</p>"
    return f"<p>{ok} of {planned} planned runs are ok. The others, with the reason:</p>" + table(
        "Coverage: placements with a run that is not ok", _COLUMNS, lost
    )


def trouble(row: Row) -> str:
    """`1 oom, 2 failed`."""
    return ", ".join(f"{row[kind]} {kind}" for kind in _KINDS if row[kind])


_COLUMNS = [
    Column(label="case", cell=lambda row: text(row["case_name"])),
    Column(label="placement", cell=lambda row: text(row["placement"])),
    Column(label="ok of planned", cell=lambda row: f"{row['ok']} of {row['planned']}", numeric=True),
    Column(label="not ok", cell=lambda row: text(trouble(row))),
    Column(label="attempts", cell=lambda row: f"{row['attempts']:,}", numeric=True),
    Column(label="reason", cell=lambda row: text(row["reasons"]) if row["reasons"] else units.UNKNOWN),
]
