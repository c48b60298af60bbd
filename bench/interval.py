"""How sure a mean over repeats is, without scipy: compute nodes decide with it whether to repeat.

The same as the views of results.duckdb-schema say: Student's t on logarithms, two-sided, 95 %.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache

_CONFIDENCE = 0.95


def relative_half_width(values: Sequence[float]) -> float | None:
    """Of the 95 % interval around the geometric mean, as a fraction of it: the upper, longer side. Null below two."""
    if len(values) < 2:
        return None
    if min(values) == max(values):  # rounding must not invent a variance
        return 0.0
    deviation = statistics.stdev(map(math.log, values))
    return math.expm1(t_quantile(len(values) - 1) * deviation / math.sqrt(len(values)))


@cache
def t_quantile(df: int) -> float:
    """The two-sided 95 % quantile of Student's t for a whole number of degrees of freedom."""
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, df) < _CONFIDENCE else (low, middle)
    return math.sqrt(df) * math.tan((low + high) / 2)


def _within(angle: float, df: int) -> float:
    """P(|t| < sqrt(df) tan(angle)): a finite sum for whole df (Abramowitz & Stegun 26.7.3 and 26.7.4)."""
    cosine = math.cos(angle)
    power = df % 2
    term, total = math.sin(angle) * cosine**power, 0.0
    while power <= df - 2:
        total += term
        power += 2
        term *= (power - 1) / power * cosine**2
    return 2 / math.pi * (angle + total) if df % 2 else total
