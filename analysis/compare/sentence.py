"""The sentence with which a comparison closes: whether the gate fails, and what stays open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from analysis.compare.comparison import Comparison
from analysis.fetched import Row
from analysis.plain import cell, number
from analysis.rounding import estimate

VERDICTS = ("faster", "slower", "same", "inconclusive")


def percent(fraction: float) -> str:
    """`2 %`."""
    return f"{number(100 * fraction, 4)} %"


def ratio(row: Row) -> str:
    """`×0.900 [0.879, 0.922]`; without brackets where a side has one unit."""
    value, interval = estimate(row["ratio"], row["ratio_lo"], row["ratio_hi"], apart_from=1)
    return f"×{value} {interval}".rstrip()


def sentence(comparison: Comparison, name: Callable[[str], str] = cell) -> str:
    """One line; `name` makes of a case's name, the only text in it that is not ours, what is shown."""
    judged = [row for row in comparison.rows if row["verdict"] is not None]
    if not judged:
        return "No verdict: every row was oversubscribed."
    limit = percent(comparison.max_regression)
    failed = regressions(comparison.rows)
    if failed:
        return f"{lost(failed, comparison.max_regression, name)}; {_counted(judged)}."
    if all(_is_ruled_out(row, comparison) for row in judged):
        return f"No regression beyond {limit}: no interval reaches below it; {_counted(judged)}."
    return f"No regression beyond {limit} is certain, {_open(judged, comparison, name)}; {_counted(judged)}."


def lost(failed: Sequence[Row], max_regression: float, name: Callable[[str], str] = cell) -> str:
    """Of rows that are regressions, the largest first."""
    more = f" and {len(failed) - 1:,} more" if len(failed) > 1 else ""
    return f"Regression beyond {percent(max_regression)}: {_named(failed[0], name)}{more}"


def regressions(rows: Iterable[Row]) -> list[Row]:
    """The largest first."""
    return sorted((row for row in rows if row["regression"]), key=lambda row: row["ratio"])


def counts(judged: Iterable[Row]) -> str:
    """`1 faster, 2 same`."""
    found = Counter(row["verdict"] for row in judged)
    return ", ".join(f"{found[verdict]:,} {verdict}" for verdict in VERDICTS if found[verdict])


def judged_as(row: Row) -> str:
    """Its verdict, or why it is more than that; nothing where there is no ratio."""
    if row["oversubscribed"]:
        return "oversubscribed"
    return "slower: regression" if row["regression"] else row["verdict"] or ""


def needed(row: Row) -> str:
    """Nothing where none is needed, or nothing is known."""
    if row["verdict"] != "inconclusive" or row["ratio_lo"] is None:
        return ""
    return "> 1,000" if row["repeats_needed"] is None else f"{row['repeats_needed']:,}"


def _named(row: Row, name: Callable[[str], str]) -> str:
    return f"{name(row['case_name'])} {row['placement']} {ratio(row)}"


def _is_ruled_out(row: Row, comparison: Comparison) -> bool:
    return row["ratio_lo"] is not None and row["ratio_lo"] >= 1 - comparison.max_regression


def _open(judged: Sequence[Row], comparison: Comparison, name: Callable[[str], str]) -> str:
    """What could be one."""
    rows = [row for row in judged if not _is_ruled_out(row, comparison)]
    lowest = min(rows, key=lambda row: row["ratio"])
    if len(rows) == 1:
        return f"but {_named(lowest, name)} does not rule it out"
    return f"but {len(rows):,} of {len(judged):,} rows do not rule it out, such as {_named(lowest, name)}"


def _counted(judged: Sequence[Row]) -> str:
    of = f"of {len(judged):,} rows " if len(judged) > 1 else ""
    return of + counts(judged) + _more(judged)


def _more(judged: Sequence[Row]) -> str:
    """How many repeats would decide what is open."""
    rows = [row for row in judged if row["verdict"] == "inconclusive"]
    if not rows:
        return ""
    if any(row["ratio_lo"] is None for row in rows):
        return ", where a side has a single repeat: two or more give an interval"
    known = [row["repeats_needed"] for row in rows if row["repeats_needed"] is not None]
    units = unit_of(rows)
    if len(known) < len(rows):
        return f", which even 1,000 more {units} a side would not all decide"
    return f", which about {max(known):,} more {units if max(known) > 1 else units[:-1]} a side would decide"


def unit_of(rows: Sequence[Row]) -> str:
    """What the intervals of these rows are over, in the plural."""
    units = {row["unit"] for row in rows} or {"repeat"}
    return f"{units.pop()}s" if len(units) == 1 else "repeats or sessions"
