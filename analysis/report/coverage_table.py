"""What was planned and what became of it, and why runs are not ok: one row per reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import Column, details, table, text, unordered
from analysis.report.summary_table import label

KINDS = ("oom", "failed", "timeout", "interrupted", "missing", "skipped")
"""In which a run can be other than ok, the gravest first; `missing` was planned and left no result."""
MOST_CASES = 8
"""Cases that a row names; it counts the others."""
_LONG_TEXT = 300
"""Characters of a reason that are shown unfolded."""


def coverage(rows: list[Row], not_ok: list[Row]) -> str:
    """A line of counts; where a run is not ok, a table with its reasons. `rows`: queries/coverage.sql, `not_ok`:
    queries/not_ok.sql."""
    if not rows:
        return '<p class="empty">Nothing was planned.</p>'
    planned, ok = (sum(row[name] for row in rows) for name in ("planned", "ok"))
    runs = ok + len(not_ok)
    unplanned = _unplanned(rows, runs - planned)
    kind = "" if unplanned else "planned "
    if not not_ok:
        said = f"All {runs:,} {kind}runs are ok." if runs > 1 else f"The {kind}run is ok."
        return f"<p>{said}{unplanned}</p>"
    counts = _counts(planned, ok, not_ok)
    return f"<p>{ok:,} of {runs:,} {kind}runs are ok.{unplanned}</p>{counts}{_reasons(not_ok)}"


def _unplanned(rows: list[Row], count: int) -> str:
    """`count` runs, and where they are."""
    if not count:
        return ""
    beyond = [row for row in rows if sum(row[kind] for kind in ("ok", *KINDS)) > row["planned"]]
    return f" {count:,} {'run is' if count == 1 else 'runs are'} not in the plan:<br>{_where({'of': beyond})}"


def _counts(planned: int, ok: int, not_ok: list[Row]) -> str:
    """`27 planned`, `20 ok` ...: also kinds that did not happen, because that is an answer too."""
    counts = {kind: sum(row["status"] == kind for row in not_ok) for kind in KINDS}
    items = [f"<b>{planned:,}</b> planned", f"<b>{ok:,}</b> {label('good', 'ok') if ok else 'ok'}"]
    items += [
        f"<b>{count:,}</b> {label(_tone(kind), kind) if count else kind}" for kind, count in counts.items()
    ]
    return f'<div class="counts">{unordered(items)}</div>'


def _tone(status: str) -> str:
    return "none" if status == "skipped" else "bad"


def _reasons(not_ok: list[Row]) -> str:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in not_ok:
        groups.setdefault((row["status"], row["reason"] or ""), []).append(row)
    lines = [{"status": status, "reason": reason, "of": of} for (status, reason), of in groups.items()]
    lines.sort(key=lambda line: (KINDS.index(line["status"]), -len(line["of"])))
    is_placed = any(row["failed_rank"] is not None for row in not_ok)
    columns = [column for column in _COLUMNS if is_placed or column is not _BEGAN]
    return table("Runs that are not ok: one row per status and reason", columns, lines)


def _where(line: Row) -> str:
    """The placements of each case: `ddp 1x4, 1x8`."""
    cases: dict[str, dict[str, None]] = {}
    for row in line["of"]:
        cases.setdefault(row["case_name"], {})[row["placement"]] = None
    items = [f"{text(case)} {text(', '.join(places))}" for case, places in cases.items()]
    return "<br>".join(items[:MOST_CASES]) + (
        f"<br>and {len(items) - MOST_CASES:,} more cases" if len(items) > MOST_CASES else ""
    )


def _began(line: Row) -> str:
    """The rank and node on which the runs went wrong: `rank 3 on node 0`."""
    places = {
        (row["failed_rank"], row["failed_node"]): None for row in line["of"] if row["failed_rank"] is not None
    }
    items = list(_ranks(places))
    return (
        "<br>".join(items[:MOST_CASES]) + ("<br>and others" if len(items) > MOST_CASES else "")
        or units.UNKNOWN
    )


def _ranks(places: Iterable[tuple[int, int | None]]) -> Iterator[str]:
    for rank, node in places:
        yield f"rank {rank}" + ("" if node is None else f" on node {node}")


def _reason(line: Row) -> str:
    reason: str = line["reason"]
    if not reason:
        return {"missing": "planned, and left no result"}.get(line["status"], units.UNKNOWN)
    if len(reason) <= _LONG_TEXT:
        return f'<div class="reason">{text(reason)}</div>'
    whole = details(f"All {len(reason):,} characters", f'<div class="reason">{text(reason)}</div>')
    is_trace = reason.startswith("Traceback")  # of which the end says most
    part = f"… {reason[-_LONG_TEXT:].strip()}" if is_trace else f"{reason[:_LONG_TEXT].strip()} …"
    return f'<div class="reason">{text(part)}</div>{whole}'


_BEGAN = Column(label="where it began", cell=_began)
_COLUMNS = [
    Column(label="status", cell=lambda line: label(_tone(line["status"]), line["status"])),
    Column(label="runs", cell=lambda line: f"{len(line['of']):,}", numeric=True),
    Column(label="reason", cell=_reason),
    _BEGAN,
    Column(label="placements", cell=_where),
]
