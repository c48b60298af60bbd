"""Sentences about the scaling laws of a case; they claim no more than the intervals allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording.numbers import estimate, signed_percent
from analysis.wording.plain_text import counted

_MOST_PEAKS = 4
SURE = 4
"""A peak is named only if its interval's ends differ by at most this factor, and the largest size and the peak, too."""


def sentence(row: Row) -> str:
    """The limit by Amdahl's law and the peak by the USL, as far as they are known."""
    parts = [part for part in (_limit(row), _beyond(row)) if part]
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _limit(row: Row) -> str:
    if row["segment"] == "one node" or not _is_narrow(row, "speedup_limit"):
        return ""
    limit, interval = estimate(*(row[f"speedup_limit{end}"] for end in ("", "_lo", "_hi")))
    return f"by Amdahl no number of {row['axis']} is more than {limit} {interval} times as fast"


def _beyond(row: Row) -> str:
    """The number of workers at which throughput peaks, as far as the measured sizes show it."""
    peak, low, largest = row["peak_workers"], row["peak_workers_lo"], row["largest_workers"]
    if row["usl_gamma"] is None:
        return "too few sizes to tell whether there is a peak"
    is_within = is_sure(row) and row["smallest_workers"] <= peak <= largest
    # The law of one node says nothing about more nodes.
    if row["usl_rejected"] or (row["segment"] == "one node" and not is_within):
        return ""
    if is_sure(row):
        return f"by the USL fastest at about {_peak(row)}{', between sizes that were measured' if is_within else ''}"
    if low is not None and low > largest:
        return f"by the USL no peak up to {int(low):,} {row['axis']}"
    if peak is None and low is None:
        return "no peak in sight"
    return "these sizes do not show whether there is a peak"


def _peak(row: Row) -> str:
    """`31 ranks [26, 37]`."""
    peak, low, high = (_about(row[f"peak_workers{end}"]) for end in ("", "_lo", "_hi"))
    return f"{peak} {row['axis']} [{low}, {high}]"


def _about(workers: float) -> str:
    return f"{max(round(workers), 1):,}"


def is_sure(row: Row) -> bool:
    """Whether the peak's interval is known and its ends differ by at most the factor SURE."""
    return _is_narrow(row, "peak_workers")


def _is_narrow(row: Row, name: str) -> bool:
    low, high = row[f"{name}_lo"], row[f"{name}_hi"]
    return low is not None and high is not None and bool(high <= SURE * low)


def peaks(rows: Sequence[Row], name: Callable[[str], str] = str) -> Iterator[str]:
    """A sentence for the first cases with a known peak, then the number of others; `name` escapes a case's name."""
    known = [
        row
        for row in rows
        if row["segment"] != "one node"
        and is_sure(row)
        and row["peak_workers"] <= SURE * row["largest_workers"]
    ]
    for row in known[:_MOST_PEAKS]:
        largest = row["largest_workers"]
        error = row["usl_left_out_error"]
        said = f"{name(row['case_name'])}: by the USL fastest at about {_peak(row)}"
        check = (
            f"; fitted without {largest:,}, it misses that size by {signed_percent(error)}"
            if row["peak_workers"] > largest and error is not None
            else ""
        )
        yield f"{said}, fitted to {row['points']} sizes up to {largest:,}{check}."
    if len(known) > _MOST_PEAKS:
        yield f"The table scaling_law has the peaks of {counted(len(known) - _MOST_PEAKS, 'more cases')}."


_NAMES = {"amdahl": "Amdahl", "gustafson": "Gustafson", "usl": "the USL"}


def comparison(row: Row) -> str:
    """Sentences: which laws do not hold at the measured sizes, otherwise which law explains the runs better; empty if
    one law alone was fitted and holds."""
    serial, pair = _NAMES[row["serial_law"]], (row["serial_lack_of_fit_p"], row["usl_lack_of_fit_p"])
    if row["serial_rejected"] and row["usl_rejected"]:
        found = " and ".join(map(p_text, pair))
        return f"Neither {serial} nor the USL holds at these sizes (lack of fit, {found}): no prediction."
    for name, is_rejected, p in zip(
        (serial, "The USL"), (row["serial_rejected"], row["usl_rejected"]), pair, strict=True
    ):
        if is_rejected:
            return f"{name} does not hold at these sizes (lack of fit, {p_text(p)}) and predicts nothing."
    if row["serial_fraction"] is None or row["usl_gamma"] is None:
        return ""
    preferred = row["preferred_law"]
    if row["serial_law"] == "amdahl":
        found = p_text(row["beyond_amdahl_p"])
        if preferred == "usl":
            return f"The USL is closer to the runs than Amdahl ({found})."
        return f"Amdahl is enough at these sizes: the runs show no cost for each pair of {row['axis']} ({found})."
    if preferred is None:
        return f"The runs do not tell {serial} and the USL apart."
    other = "usl" if preferred != "usl" else row["serial_law"]
    nearer = _NAMES[preferred]
    return f"{nearer[:1].upper()}{nearer[1:]} is closer to the runs than {_NAMES[other]}."


def p_text(p: float) -> str:
    """`p = 0.034`, `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
