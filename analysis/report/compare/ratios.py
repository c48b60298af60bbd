"""Throughput of the candidates over the baseline's: a sentence and a table for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis import rounding
from analysis.compare.sentence import counts, judged_as, lost, needed, regressions, unit_of
from analysis.fetched import Row
from analysis.report import units
from analysis.report.compare.contents import MARGIN, MAX_REGRESSION, Comparison, Group
from analysis.report.markup import Column, table, text
from analysis.report.summary_table import label
from analysis.summary_columns import throughput_unit

_TONES = {"faster": "good", "slower": "bad", "same": "none", "inconclusive": "none"}


def sentence(baseline: Group, candidate: Group, rows: Sequence[Row]) -> str:
    """Plain text: the most telling size, then how all sizes were judged."""
    both = f"{candidate.letter} against {baseline.letter}"
    measured = [row for row in rows if row["ratio"] is not None]
    if not measured:
        return f"{both}: no case in common has an ok run at the same size in both, so there is no ratio."
    judged = [row for row in measured if row["verdict"] is not None]
    if not judged:
        return f"{both}: every row in common was oversubscribed, so there is no verdict."
    lead = _lead(max(judged, key=_telling))
    if len(judged) > 1 and {row["verdict"] for row in judged} == {"inconclusive"}:
        return f"{both}: none of {len(judged):,} rows differs for certain; {lead}."
    return f"{both}: {lead}{_counted(judged)}.{_lost(judged)}"


def _lost(judged: Sequence[Row]) -> str:
    """The largest regression, and how many there are."""
    failed = regressions(judged)
    return f" {lost(failed, MAX_REGRESSION, str)}." if failed else ""


def _telling(row: Row) -> tuple[bool, int, float]:
    return (row["scaling"] == "strong", row["workers"], row["candidate_throughput"])


def _lead(row: Row) -> str:
    axis = row["axis"].removesuffix("s") if row["workers"] == 1 else row["axis"]
    size = f"{row['case_name']} at {row['workers']:,} {axis}"
    ratio, interval = rounding.estimate(row["ratio"], row["ratio_lo"], row["ratio_hi"], apart_from=1)
    why = "" if interval else ", because a side has fewer than two ok repeats"
    return f"throughput of {size} ×{ratio}{interval and f' {interval}'}, {row['verdict']}{why}"


def _counted(judged: Sequence[Row]) -> str:
    if len(judged) == 1:
        return ", the only row in common"
    if len({row["verdict"] for row in judged}) == 1:
        return f"; so are all {len(judged):,} rows"
    return f"; of {len(judged):,} rows {counts(judged)}"


def sentences(comparison: Comparison) -> list[str]:
    return [
        sentence(comparison.baseline, side, rows.to_dicts())
        for side, rows in zip(comparison.candidates, comparison.ratios, strict=True)
    ]


def ratio_table(baseline: Group, candidate: Group, rows: Sequence[Row]) -> str:
    """One row per case and placement in common."""
    if not rows:
        both = f"{candidate.letter} and {baseline.letter}"
        return f'<p class="empty">{both} have no case at the same size in common.</p>'
    caption = f"Ratios of {candidate.letter} to {baseline.letter}: one row per case and placement"
    return table(caption, _columns(baseline.letter, candidate.letter, rows), rows)


def reading() -> str:
    return (
        "Ratio: throughput of candidate ÷ baseline, with its 95 % interval (Welch on logs) over repeats, "
        "over sessions where both sides have several. Faster or slower: the interval excludes 1. Same: it lies within "
        f"1 ± {100 * MARGIN:.0f} %. Else inconclusive: so many more on each side would decide it, if ratio and noise "
        f"stay. Regression: the interval lies below 1 − {100 * MAX_REGRESSION:.0f} %, at 5 % over all rows (Holm). "
        "p: of no difference, after Holm."
    )


def _verdict(row: Row) -> str:
    tone = "bad" if row["regression"] else _TONES.get(row["verdict"], "none")
    said = judged_as(row)
    return label(tone, said) if said else units.UNKNOWN


def _needed(row: Row) -> str:
    return text(needed(row)).replace(" ", "\u00a0") if row["verdict"] else units.UNKNOWN


def _probability(row: Row) -> str:
    p = row["p_value_holm"]
    return "&lt;\u00a00.001" if p is not None and p < 0.001 else units.number(p, 2)


def _columns(baseline: str, candidate: str, rows: Sequence[Row]) -> list[Column]:
    open_rows = [row for row in rows if row["verdict"] == "inconclusive"]
    unit = throughput_unit(rows)
    return [
        Column(label="case", cell=lambda row: text(row["case_name"])),
        Column(label="placement", cell=lambda row: text(row["placement"])),
        Column(
            label="ratio [95 %]",
            cell=lambda row: units.with_interval(
                row["ratio"], row["ratio_lo"], row["ratio_hi"], "×", apart_from=1
            ),
            numeric=True,
        ),
        Column(label="verdict", cell=_verdict),
        Column(label=f"more {unit_of(open_rows)}", cell=_needed, numeric=True),
        Column(label="p (Holm)", cell=_probability, numeric=True),
        Column(label=f"{baseline}, {unit}", cell=_rate("baseline_throughput"), numeric=True),
        Column(label=f"{candidate}, {unit}", cell=_rate("candidate_throughput"), numeric=True),
        *_sessions(baseline, candidate, rows),
        Column(
            label=f"ok repeats {baseline}, {candidate}",
            cell=lambda row: f"{row['baseline_repeats']:,}, {row['candidate_repeats']:,}",
            numeric=True,
        ),
    ]


def _sessions(baseline: str, candidate: str, rows: Sequence[Row]) -> list[Column]:
    """How many there are, where a side has several."""
    if all(max(row["baseline_sessions"], row["candidate_sessions"]) < 2 for row in rows):
        return []
    return [
        Column(
            label=f"sessions {baseline}, {candidate}",
            cell=lambda row: f"{row['baseline_sessions']:,}, {row['candidate_sessions']:,}",
            numeric=True,
        )
    ]


def _rate(name: str) -> Callable[[Row], str]:
    return lambda row: units.number(row[name], 4)
