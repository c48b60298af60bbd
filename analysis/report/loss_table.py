"""Where the efficiency of each size went: the six terms with their intervals, and what each of them means."""

from __future__ import annotations

import html
from collections.abc import Iterable

from analysis import lost, verdicts
from analysis.fetched import Row
from analysis.loss_terms import TERMS, how_known, name_of
from analysis.report import units
from analysis.report.markup import Column, details, first_rows, table, text, unordered
from analysis.report.summary_table import label

MOST_ROWS = 40
"""Of the table; the CSV has all."""
MOST_NAMED = 6
"""Sizes of which nothing can be told; the table marks all."""
_SMALLEST = 0.0005
"""Share that is not rounded to nothing."""

_READING = (
    "Shares of the ranks' time at each size; with the efficiency they add up to 100 %. Below 0 is a gain: it costs "
    "less here than at the baseline. Pale, here and in the chart: the interval has 0 in it, so that it may be nothing."
)
_OPEN = "How much was lost there, and to what, cannot be told from these repeats"


def losses(rows: list[Row]) -> str:
    """`rows` of queries/losses.sql; nothing where no more is known than that something was lost."""
    explained = lost.explained(rows)
    sizes: dict[tuple[object, ...], list[Row]] = {}
    for row in explained:
        place = (row["case_name"], row["nodes"], row["ranks_per_node"], row["threads"])
        sizes.setdefault(place, []).append(row)
    if not sizes:
        return ""
    known = [
        term for term in TERMS if any(row["term"] == term and row["share"] is not None for row in explained)
    ]
    costly = [term for term in known if any(_shows(row) for row in explained if row["term"] == term)]
    shown = [
        terms[0] | {"terms": {term["term"]: term for term in terms}}
        for terms in list(sizes.values())[:MOST_ROWS]
    ]
    return (
        f'<p class="reading">{_READING}{first_rows(MOST_ROWS, len(sizes))}</p>'
        + _undecided(terms[0] for terms in sizes.values() if verdicts.is_open(terms[0]))
        + table(
            "Lost efficiency: one row per case and placement",
            [*_KEYS, *map(_column, costly)],
            shown,
            stacks=True,
        )
        + _free([term for term in known if term not in costly])
        + _meanings(costly)
        + details("How each part is computed", _definitions(known))
        + _how_known(explained)
    )


def _undecided(rows: Iterable[Row]) -> str:
    """Of sizes of which not even a verdict can be told."""
    named = [f"{text(row['case_name'])} {text(row['placement'])}" for row in rows]
    more = f" and {len(named) - MOST_NAMED:,} more" if len(named) > MOST_NAMED else ""
    return f"<p><strong>{', '.join(named[:MOST_NAMED])}{more}:</strong> {_OPEN}.</p>" if named else ""


def _shows(row: Row) -> bool:
    """Whether a share, or an end of its interval, is a tenth of a percent or more."""
    return any(abs(row[name] or 0) >= _SMALLEST for name in ("share", "share_lo", "share_hi"))


def _free(terms: list[str]) -> str:
    """Those that are known to have cost nothing."""
    said = ", ".join(html.escape(name_of(term)) for term in terms)
    return f'<p class="reading">Nothing was lost to: {said}.</p>' if terms else ""


def _meanings(known: list[str]) -> str:
    return unordered(
        f"<strong>{html.escape(name_of(term).capitalize())}.</strong> {html.escape(TERMS[term].meaning)}"
        for term in known
    )


def _definitions(known: list[str]) -> str:
    each = unordered(
        f"<strong>{html.escape(name_of(term).capitalize())}</strong>: {html.escape(TERMS[term].definition)}"
        for term in known
    )
    return (
        "<p>An example costs workers ÷ throughput seconds of all ranks together; 1 − efficiency is the share of it "
        "that the baseline would not have needed. A term is what an example costs of the following here minus what it "
        "costs of it at the baseline, as a share of that. They are taken off in this order, so that what two terms "
        f"share is the earlier one's.</p>{each}<p>Intervals: 95 %, Welch's on the difference between the repeats here "
        "and those of the baseline; none below two repeats.</p>"
    )


def _how_known(rows: list[Row]) -> str:
    ways = {row["known_by"]: None for row in rows}
    said = "; ".join(html.escape(how_known(way)) for way in ways)
    return f'<p class="reading">How communication is told from computation: {said}.</p>'


def _column(term: str) -> Column:
    return Column(label=name_of(term), cell=lambda row: _share(row["terms"][term]), numeric=True)


def _share(row: Row) -> str:
    """HTML: `25.6 % [23.5, 27.7]`; tenths of a percent, since no less matters beside 100 %."""
    return _estimate(*(row[name] for name in ("share", "share_lo", "share_hi")))


def _estimate(share: float | None, low: float | None, high: float | None) -> str:
    if share is None:
        return units.UNKNOWN
    if low is None or high is None:
        return f"{_percent(share)}\u00a0%"
    shown = f'{_percent(share)}\u00a0% <span class="interval">[{_percent(low)},\u00a0{_percent(high)}]</span>'
    return f'<span class="interval">{shown}</span>' if low <= 0 <= high else shown


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}".replace("-0.0", "0.0").replace("-", "\u2212")


def _lost(row: Row) -> str:
    ends = (None if row[end] is None else 1 - row[end] for end in ("efficiency_hi", "efficiency_lo"))
    shown = _estimate(1 - row["efficiency"], *ends)
    return f"{shown} {label('none', verdicts.UNDECIDED)}" if verdicts.is_open(row) else shown


def _known(row: Row) -> str:
    return label("none", row["known_by"] or "not known")


_KEYS = [
    Column(label="case", cell=lambda row: text(row["case_name"])),
    Column(label="placement", cell=lambda row: text(row["placement"])),
    Column(label="known by", cell=_known),
    Column(
        label="lost",
        cell=_lost,
        numeric=True,
    ),
]
