"""Where each verdict on an efficiency begins: verdict_of.sql says it, everything else reads it there."""

from __future__ import annotations

import re
from functools import cache

from analysis.database import schema
from analysis.database.rows import Row

UNDECIDED = "undecided"
"""Said in place of a verdict that the repeats do not support."""

_LIMIT = re.compile(r">=? ([\d.]+) THEN '(\w+)'")


@cache
def limits() -> dict[str, float]:
    """The efficiency from which each verdict holds, the best verdict first; superlinear begins above its limit."""
    return {name: float(least) for least, name in _LIMIT.findall(schema.text("verdict_of"))}


def names() -> tuple[str, ...]:
    """From the worst to the best."""
    return ("poor", *reversed(limits()))


def is_open(point: Row) -> bool:
    """Whether the interval of an efficiency spans more than two verdicts, so that no one of them can be told; `point`
    is a row of `scaling`."""
    low, high = point["verdict_lo"], point["verdict_hi"]
    if low is None or high is None:
        return False
    order = names()
    return order.index(high) - order.index(low) > 1


def told(point: Row) -> str | None:
    """The verdict of a row of `scaling`, or that it is undecided; null where the row has none."""
    return UNDECIDED if is_open(point) else point["verdict"]
