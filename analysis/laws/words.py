"""What the laws of a case say, in words: no more than the intervals allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from analysis.rounding import estimate

Law = dict[str, Any]
"""A row of the view `scaling_law`."""
_SURE = 4
"""Factor between the ends of a peak's interval, and from the largest size to the peak, up to which it is told."""


def says(row: Law) -> str:
    """What the laws of a case say, in words."""
    parts = [part for part in (_limit(row), _beyond(row)) if part]
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _limit(row: Law) -> str:
    if row["speedup_limit"] is None:
        return ""
    return (
        f"no number of {row['axis']} is more than {estimate(row['speedup_limit'], None, None)[0]} × as fast"
    )


def _beyond(row: Law) -> str:
    """Where throughput ends to grow, as far as the sizes that were measured can tell."""
    peak = row["peak_workers"]
    if row["usl_gamma"] is None:
        return "too few sizes to tell whether there is a peak"
    if peak is None:
        return "no peak in sight"
    if peak <= row["largest_workers"]:
        return f"fastest at about {_about(peak)} {row['axis']}, which was measured"
    if not is_sure(row):
        return "whether there is a peak these sizes do not tell"
    return f"fastest at about {_about(peak)} {row['axis']}"


def _about(workers: float) -> str:
    return f"{max(round(workers), 1):,}"


def is_sure(row: Law) -> bool:
    """The interval of the peak is known, and its ends are no more than that factor apart."""
    low, high = row["peak_workers_lo"], row["peak_workers_hi"]
    return low is not None and high is not None and bool(high <= _SURE * low)


def peaks(rows: Sequence[Law], name: Callable[[str], str] = str) -> Iterator[str]:
    """A sentence for every case whose peak is told; `name` makes of a case's name what is shown."""
    for row in rows:
        peak, low, high = (row[f"peak_workers{end}"] for end in ("", "_lo", "_hi"))
        if is_sure(row) and peak <= _SURE * row["largest_workers"]:
            yield (
                f"{name(row['case_name'])}: by the USL fastest at about {_about(peak)} {row['axis']} "
                f"[{_about(low)}, {_about(high)}], fitted to {row['points']} sizes up to {row['largest_workers']:,}."
            )
