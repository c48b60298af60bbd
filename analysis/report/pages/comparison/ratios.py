"""Throughput of each candidate relative to the baseline: a sentence and a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from analysis.compare.wording import (
    counts,
    is_undecided,
    largest_regression,
    moved_together,
    ratio,
    regressions,
)
from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.downloads import csv_download
from analysis.report.html.markup import CASE, PLACEMENT, interval_cell, label
from analysis.report.html.render import render
from analysis.report.pages.comparison.data import MARGIN, MAX_REGRESSION, ComparedSessions, Group
from analysis.tables.column import Column
from analysis.tables.scaling import throughput_unit
from analysis.wording import numbers
from analysis.wording.caveats import busy_sides
from analysis.wording.plain_text import counted

_TONES = {"faster": "good", "slower": "bad"}


def sentence(baseline: Group, candidate: Group, rows: Sequence[Row]) -> str:
    """Plain text: whether all rows moved together, the most telling size, then the verdicts of all sizes."""
    both = f"{candidate.letter} against {baseline.letter}"
    measured = [row for row in rows if row["ratio"] is not None]
    if not measured:
        return f"{both}: no case in common has an ok run at the same size in both, so there is no ratio."
    judged = [row for row in measured if row["verdict"] is not None]
    if not judged:
        return f"{both}: every row in common was oversubscribed, so there is no verdict."
    lead = _lead(
        max(
            judged,
            key=lambda row: (row["scaling_mode"] == "strong", row["workers"], row["candidate_throughput"]),
        )
    )
    is_open = len(judged) > 1 and all(map(is_undecided, judged))
    said = (
        f"none of {len(judged):,} rows differs for certain; {lead}"
        if is_open
        else f"{lead}{_counted(judged)}"
    )
    failed = regressions(judged)
    parts = [
        moved_together(judged, str),
        said,
        largest_regression(failed, MAX_REGRESSION, str) if failed else "",
    ]
    first, *others = filter(None, parts)
    return (
        f"{both}: {'. '.join([_cased(first, str.lower), *(_cased(other, str.upper) for other in others)])}."
    )


def _cased(said: str, change: Callable[[str], str]) -> str:
    return change(said[0]) + said[1:]


def _lead(row: Row) -> str:
    size = f"{row['case_name']} at {counted(row['workers'], row['axis'])}"
    return f"throughput of {size} {ratio(row)}, {row['verdict_text']}"


def _counted(judged: Sequence[Row]) -> str:
    if len(judged) == 1:
        return ", the only row in common"
    if len({row["verdict"] for row in judged}) == 1:
        verdict = judged[0]["verdict"]
        return f"; all {len(judged):,} rows are {'the same' if verdict == 'same' else verdict}"
    return f"; of {len(judged):,} rows {counts(judged)}"


def sentences(comparison: ComparedSessions) -> list[str]:
    """One for each candidate."""
    return [
        sentence(comparison.baseline, side, rows.to_dicts())
        for side, rows in zip(comparison.candidates, comparison.ratios, strict=True)
    ]


def busy(comparison: ComparedSessions) -> str:
    """A sentence on the sessions that were measured on a busy machine; empty if there are none."""
    letters = [one.letter for one in comparison.sessions if one.session["is_busy"]]
    return f"{busy_sides(letters)}." if letters else ""


def ratios(comparison: ComparedSessions) -> Markup:
    """A table for each candidate, one row per case and placement in common, with its CSV."""
    baseline = comparison.baseline.letter
    pairs = [
        {
            "baseline": baseline,
            "candidate": side.letter,
            "rows": found.to_dicts(),
            "columns": _columns(baseline, side.letter, found.to_dicts()),
            "download": csv_download(
                f"{side.letter}_against_{baseline}".replace(" ", "_"), found, "placements in common"
            ),
        }
        for side, found in zip(comparison.candidates, comparison.ratios, strict=True)
    ]
    return render(
        "sections/ratios",
        pairs=pairs,
        margin=f"{100 * MARGIN:.0f}",
        regression=f"{100 * MAX_REGRESSION:.0f}",
    )


def _verdict(row: Row) -> str:
    said = row["verdict_text"]
    return label(said, _TONES.get(row["verdict"], "none")) if said else units.UNKNOWN


def _columns(baseline: str, candidate: str, rows: Sequence[Row]) -> list[Column]:
    unit = throughput_unit(rows)
    columns = [
        CASE,
        PLACEMENT,
        Column(
            "ratio [95 %]",
            interval_cell("ratio", "×", apart_from=1, show=numbers.telling_estimate),
            number=True,
        ),
        Column("verdict", _verdict),
        Column("p (Holm)", lambda row: units.p_value(row["p_value_holm"]), number=True),
        Column(f"{baseline}, {unit}", _rate("baseline_throughput"), number=True),
        Column(f"{candidate}, {unit}", _rate("candidate_throughput"), number=True),
    ]
    if any(max(row["baseline_sessions"], row["candidate_sessions"]) > 1 for row in rows):
        columns.append(Column(f"sessions {baseline}, {candidate}", _both("sessions"), number=True))
    return [*columns, Column(f"ok repeats {baseline}, {candidate}", _both("repeats"), number=True)]


def _both(field: str) -> Callable[[Row], str]:
    return lambda row: f"{row[f'baseline_{field}']:,}, {row[f'candidate_{field}']:,}"


def _rate(field: str) -> Callable[[Row], str]:
    return lambda row: units.number(row[field])
