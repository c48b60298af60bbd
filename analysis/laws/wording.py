"""Sentences about the law of a case; they claim no more than its weights and intervals allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording.numbers import estimate, is_too_wide, signed_percent
from analysis.wording.plain_text import counted

SURE = 0.9
"""Weight from which one form alone is believed."""
_FORMS = ("saturating", "log", "pairs")
_MOST_PEAKS = 4
_FARTHEST_PEAK = 4
"""A summary names a peak up to this many times the largest size."""
_LEAST_WEIGHT = 0.01


def weights(row: Row) -> str:
    """`log 65 %, pairs 35 %`: the forms of the average, the best one first."""
    found = sorted(((row[f"{form}_weight"] or 0, form) for form in _FORMS), key=lambda pair: -pair[0])
    return ", ".join(f"{form} {100 * weight:.0f} %" for weight, form in found if weight >= _LEAST_WEIGHT)


def sentence(row: Row) -> str:
    """The meaning of the best form's coefficients and the peak of throughput, or why there is no law."""
    if row["reason"]:
        return f"No law: measured at {row['reason']}."
    of_form = [part for part in (_serial(row), _growth(row)) if part]
    weight = row[f"{row['best_form']}_weight"] or 0
    if of_form and weight < SURE:
        of_form[0] = f"by its best form ({row['best_form']}, {100 * weight:.0f} %): {of_form[0]}"
    parts = [*of_form, *([peak] if (peak := _peak(row)) else [])]
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)


def _share(row: Row, name: str) -> str:
    """`4.0 % [3.6, 4.4]`"""
    value, interval = estimate(*(100 * row[f"{name}{end}"] for end in ("", "_lo", "_hi")), digits=2)
    return f"{value} % {interval}"


def _serial(row: Row) -> str:
    if row["serial_fraction"] is None:
        return ""
    return f"{_share(row, 'serial_fraction')} of a step on {_smallest(row)} is serial"


def _growth(row: Row) -> str:
    if row["growth"] is None:
        return ""
    more, smallest = row["axis"], row["smallest_workers"]
    cause = {
        "saturating": f"any number of {more} adds at most",
        "log": f"each doubling of {more} adds",
        "pairs": f"each further {more.removesuffix('s')} adds"
        if smallest == 1
        else f"each further {counted(smallest, more)} add",
    }[row["best_form"]]
    return f"{cause} {_share(row, 'growth')} of a step on {_smallest(row)}"


def _smallest(row: Row) -> str:
    return counted(row["smallest_workers"], row["axis"])


def _peak(row: Row) -> str:
    """The number of workers at which throughput peaks, as far as the measured sizes show it."""
    low, largest, axis = row["peak_workers_lo"], row["largest_workers"], row["axis"]
    if low is None:
        return ""
    is_within = has_peak(row) and row["peak_workers"] <= largest
    # The law of one node says nothing about more nodes.
    if row["segment"] == "one node" and not is_within:
        return ""
    if has_peak(row):
        return f"fastest at about {_about(row)}{', between sizes that were measured' if is_within else ''}"
    if low > largest:
        return f"no peak up to {int(low):,} {axis}, if nothing new begins beyond {largest:,}"
    return "these sizes do not show whether there is a peak"


def _about(row: Row) -> str:
    """`31 ranks [26, 37]`"""
    peak, low, high = (f"{max(round(row[f'peak_workers{end}']), 1):,}" for end in ("", "_lo", "_hi"))
    return f"{peak} {row['axis']} [{low}, {high}]"


def has_peak(row: Row) -> bool:
    """Whether a peak is known well enough to be named."""
    low, high = row["peak_workers_lo"], row["peak_workers_hi"]
    return low is not None and high is not None and not is_too_wide(low, high)


def peaks(rows: Sequence[Row], name: Callable[[str], str] = str) -> Iterator[str]:
    """A sentence for the first cases with a known peak, then the number of others; `name` escapes a case's name."""
    known = [
        row
        for row in rows
        if row["segment"] != "one node"
        and has_peak(row)
        and row["peak_workers"] <= _FARTHEST_PEAK * row["largest_workers"]
    ]
    for row in known[:_MOST_PEAKS]:
        largest = row["largest_workers"]
        check = (
            f", if nothing new begins beyond {largest:,}; fitted without {largest:,}, its law misses that size by "
            f"{signed_percent(row['left_out_error'])}"
            if row["peak_workers"] > largest
            else ""
        )
        yield f"{name(row['case_name'])}: fastest at about {_about(row)}, by {row['points']} sizes{check}."
    if len(known) > _MOST_PEAKS:
        yield f"The table scaling_law has the peaks of {counted(len(known) - _MOST_PEAKS, 'more cases')}."
