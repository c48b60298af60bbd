"""Where each verdict on an efficiency begins: verdict_of.sql says it, everything else reads it there."""

from __future__ import annotations

import re
from functools import cache

from analysis import schema

_LIMIT = re.compile(r">=? ([\d.]+) THEN '(\w+)'")


@cache
def limits() -> dict[str, float]:
    """The efficiency from which each verdict holds, the best verdict first; superlinear begins above its limit."""
    return {name: float(least) for least, name in _LIMIT.findall(schema.text("verdict_of"))}


def names() -> tuple[str, ...]:
    """From the worst to the best."""
    return ("poor", *reversed(limits()))
