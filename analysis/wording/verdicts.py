"""The limits of the verdicts on efficiency. The macro verdict_of defines them; everything else reads them there."""

from __future__ import annotations

import re
from functools import cache

from analysis.database import schema
from analysis.database.rows import Row

DIFFERENT_TRAINING = "different training"
"""Verdict where the losses show that more workers train another model, so that the speeds cannot be compared."""
UNDECIDED = "undecided"
"""Shown instead of a verdict that the repeats do not support."""

_LIMIT = re.compile(r">=? ([\d.]+) THEN '(\w+)'")


@cache
def limits() -> dict[str, float]:
    """Verdict -> the least efficiency for it, the best verdict first; superlinear begins above its limit."""
    return {name: float(least) for least, name in _LIMIT.findall(schema.text("verdict_of"))}


def names() -> tuple[str, ...]:
    """The verdicts from the worst to the best."""
    return ("poor", *reversed(limits()))


def is_open(point: Row) -> bool:
    """Whether the interval of an efficiency spans more than two verdicts, so that none can be given. `point` is a row
    of `scaling`."""
    low, high = point["verdict_lo"], point["verdict_hi"]
    if low is None or high is None:
        return False
    order = names()
    return order.index(high) - order.index(low) > 1


def told(point: Row) -> str | None:
    """The verdict of a row of `scaling`, or `undecided`; None if the row has none."""
    return UNDECIDED if is_open(point) else point["verdict"]
