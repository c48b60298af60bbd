"""Sentences about the scaling laws of a case; they claim no more than the intervals allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording.numbers import estimate

SURE = 4
"""A peak is named only if its interval's ends differ by at most this factor, and the largest size and the peak, too."""


def sentence(row: Row) -> str:
    """The limit by Amdahl's law and the peak by the USL, as far as they are known."""
    parts = [part for part in (_limit(row), _beyond(row)) if part]
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _limit(row: Row) -> str:
    if not _is_narrow(row, "speedup_limit"):
        return ""
    limit, interval = estimate(*(row[f"speedup_limit{end}"] for end in ("", "_lo", "_hi")))
    return f"by Amdahl no number of {row['axis']} is more than {limit} {interval} × as fast"


def _beyond(row: Row) -> str:
    """The number of workers at which throughput peaks, as far as the measured sizes show it."""
    peak = row["peak_workers"]
    if row["usl_gamma"] is None:
        return "too few sizes to tell whether there is a peak"
    if peak is None:
        return "no peak in sight"
    if not is_sure(row):
        return "these sizes do not show whether there is a peak"
    is_within = row["smallest_workers"] <= peak <= row["largest_workers"]
    return (
        f"by the USL fastest at about {_peak(row)}{', between sizes that were measured' if is_within else ''}"
    )


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
    """A sentence for every case with a known peak; `name` escapes a case's name."""
    for row in rows:
        if is_sure(row) and row["peak_workers"] <= SURE * row["largest_workers"]:
            yield (
                f"{name(row['case_name'])}: by the USL fastest at about {_peak(row)}, "
                f"fitted to {row['points']} sizes up to {row['largest_workers']:,}."
            )


_NAMES = {"amdahl": "Amdahl", "gustafson": "Gustafson"}
_DIGITS = 4
"""Decimals of r² that are shown."""


def closer_law(row: Row) -> str:
    """A sentence: which law is closer to the measured sizes; empty unless both were fitted."""
    serial, universal = row["serial_r2"], row["r2"]
    if serial is None or universal is None:
        return ""
    name = _NAMES[row["serial_law"]]
    if round(serial, _DIGITS) == round(universal, _DIGITS):
        return f"{name} and the USL are equally close to the measured sizes."
    nearer, other = (name, "the USL") if serial > universal else ("The USL", name)
    return f"{nearer} is closer to the measured sizes than {other}."
