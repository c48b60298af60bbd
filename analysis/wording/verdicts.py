"""The limits of the verdicts on efficiency. The macro verdict_of defines them; everything else reads them there."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from analysis.database import schema
from analysis.database.rows import Row
from analysis.wording import numbers

RETROGRADE = "retrograde"
"""Verdict on a size that is slower than the next smaller one."""
DIFFERENT_TRAINING = "different training"
"""Verdict where the losses show that more workers train another model, so that the speeds cannot be compared."""
INDEPENDENT_COPIES = "independent copies"
"""Verdict where the ranks of a command combine no gradients, so that there is neither speedup nor efficiency."""
UNEXPLAINED_PAUSES = "unexplained pauses"
"""Verdict where pauses of a command may be training or not, so that there is neither speedup nor efficiency."""
UNDECIDED = "undecided"
"""Verdict if the interval of the efficiency spans more than two verdicts, or if repeats are too few for an interval."""
ONE_REPEAT = "one repeat"
"""Verdict if the size or its baseline has one ok repeat."""
PUBLISHED = "published, one figure"
"""Verdict on a published figure."""

Tone = Literal["", "good", "fair", "bad"]
_TONES: dict[str, Tone] = {
    "superlinear": "good",
    "excellent": "good",
    "good": "good",
    "acceptable": "fair",
    "poor": "bad",
    RETROGRADE: "bad",
    DIFFERENT_TRAINING: "bad",
    INDEPENDENT_COPIES: "bad",
    UNEXPLAINED_PAUSES: "bad",
}
_OR = " or "
_LIMIT = re.compile(r">=? ([\d.]+) THEN '(\w+)'")


@cache
def limits() -> dict[str, float]:
    """Verdict -> the least efficiency for it, the best verdict first; superlinear begins above its limit."""
    return {name: float(least) for least, name in _LIMIT.findall(schema.text("verdict_of"))}


def names() -> tuple[str, ...]:
    """The verdicts from the worst to the best."""
    return ("poor", *reversed(limits()))


def of_percent(efficiency: float) -> str:
    """The verdict on an efficiency in percent, as verdict_of gives it."""
    share = round(efficiency / 100, 9)
    reached = (
        name
        for name, least in limits().items()
        if share >= least and (name != "superlinear" or share > least)
    )
    return next(reached, "poor")


def efficiency_estimate(
    percent: float, low: float | None, high: float | None, *, apart_from: float | None = None
) -> tuple[str, str]:
    """`telling_estimate` of an efficiency, with the digits that its verdict needs: `89.96`, not `90.0`, if it is
    good."""
    return numbers.telling_estimate(percent, low, high, apart_from=apart_from, kind=of_percent)


def is_open(point: Row) -> bool:
    """Whether the interval of an efficiency spans more than two verdicts, so that none can be given. `point` is a row
    of `scaling`."""
    low, high = point["verdict_lo"], point["verdict_hi"]
    if low is None or high is None:
        return False
    order = names()
    return order.index(high) - order.index(low) > 1


def is_between(point: Row) -> bool:
    """Whether the interval of an efficiency spans two verdicts or more. `point` is a row of `scaling`."""
    return point["verdict_lo"] is not None and point["verdict_lo"] != point["verdict_hi"]


def possible(point: Row) -> str:
    """The verdicts that the repeats leave open: `poor or acceptable`, `anything from poor to good`. `point` is a row of
    `scaling`."""
    if is_open(point):
        return f"anything from {point['verdict_lo']} to {point['verdict_hi']}"
    return str(point["verdict"])


TOO_NOISY = "too noisy to tell"
"""Said in place of a speedup and its verdict."""


def is_too_noisy(point: Row) -> bool:
    """Whether the ends of the speedup's interval differ by more than a factor of four. `point` is a row of
    `scaling`."""
    return numbers.is_too_wide(point["speedup_lo"], point["speedup_hi"])


def tone(verdict: str) -> Tone:
    """The colour of a verdict: `good`, `fair`, `bad`, or empty; empty between two colours."""
    tones: set[Tone] = {_TONES.get(name, "") for name in verdict.split(_OR)}
    return tones.pop() if len(tones) == 1 else ""
