"""What the laws of a case say, in words: no more than the intervals allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from analysis.rounding import estimate

Law = dict[str, Any]
"""A row of the table `scaling_law`."""
SURE = 4
"""Factor between the ends of an interval, and from the largest size to the peak, up to which either is told."""


def says(row: Law) -> str:
    """What the laws of a case say, in words."""
    parts = [part for part in (_limit(row), _beyond(row)) if part]
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _limit(row: Law) -> str:
    if not _is_narrow(row, "speedup_limit"):
        return ""
    limit, interval = estimate(*(row[f"speedup_limit{end}"] for end in ("", "_lo", "_hi")))
    return f"by Amdahl no number of {row['axis']} is more than {limit} {interval} × as fast"


def _beyond(row: Law) -> str:
    """Where throughput ends to grow, as far as the sizes that were measured can tell."""
    peak = row["peak_workers"]
    if row["usl_gamma"] is None:
        return "too few sizes to tell whether there is a peak"
    if peak is None:
        return "no peak in sight"
    if not is_sure(row):
        return "whether there is a peak these sizes do not tell"
    is_within = row["smallest_workers"] <= peak <= row["largest_workers"]
    return (
        f"by the USL fastest at about {_peak(row)}{', between sizes that were measured' if is_within else ''}"
    )


def _peak(row: Law) -> str:
    """`31 ranks [26, 37]`."""
    peak, low, high = (_about(row[f"peak_workers{end}"]) for end in ("", "_lo", "_hi"))
    return f"{peak} {row['axis']} [{low}, {high}]"


def _about(workers: float) -> str:
    return f"{max(round(workers), 1):,}"


def is_sure(row: Law) -> bool:
    """The interval of the peak is known, and its ends are no more than that factor apart."""
    return _is_narrow(row, "peak_workers")


def _is_narrow(row: Law, name: str) -> bool:
    low, high = row[f"{name}_lo"], row[f"{name}_hi"]
    return low is not None and high is not None and bool(high <= SURE * low)


def peaks(rows: Sequence[Law], name: Callable[[str], str] = str) -> Iterator[str]:
    """A sentence for every case whose peak is told; `name` makes of a case's name what is shown."""
    for row in rows:
        if is_sure(row) and row["peak_workers"] <= SURE * row["largest_workers"]:
            yield (
                f"{name(row['case_name'])}: by the USL fastest at about {_peak(row)}, "
                f"fitted to {row['points']} sizes up to {row['largest_workers']:,}."
            )
