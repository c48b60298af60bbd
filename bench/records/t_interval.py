"""Student's t, two-sided, 95 %: the one source of its quantile, for runner and analysis.

Compute nodes decide with it whether to repeat, without scipy. The database's table student_t, from which the views
take it, is written by results.duckdb-schema/tables/student_t.py from the same function.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache

_CONFIDENCE = 0.95


def relative_half_width(values: Sequence[float]) -> float | None:
    """The upper, longer half of the 95 % interval around the geometric mean, as a fraction of that mean.

    Null below two values."""
    if len(values) < 2:
        return None
    if min(values) == max(values):  # rounding must not invent a variance
        return 0.0
    deviation = statistics.stdev(map(math.log, values))
    return math.expm1(t_quantile(len(values) - 1) * deviation / math.sqrt(len(values)))


@cache
def t_quantile(df: float) -> float:
    """The quantile at `df` degrees of freedom, 1 or more, by Newton's method on P(|t| < sqrt(df) tan(angle)).

    That probability is concave in the angle, so that steps from 0 approach the solution from below."""
    if math.isinf(df):
        return statistics.NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
    density_at_0 = 2 / math.sqrt(math.pi) * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2))
    angle, step = 0.0, 1.0
    while step > 1e-15 * angle:
        within = density_at_0 * math.sin(angle) * math.cos(angle) ** df * _series(math.sin(angle) ** 2, df)
        step = (_CONFIDENCE - within) / (density_at_0 * math.cos(angle) ** (df - 1))
        angle += step
    return math.sqrt(df) * math.tan(angle)


def _series(square: float, df: float) -> float:
    """The incomplete beta function I(1/2, df/2) at `square` without its factor: terms are positive, so that nothing
    cancels (Abramowitz & Stegun 26.5.4)."""
    term = total = 1.0
    numerator, denominator = df + 1, 3.0
    while term > 1e-17 * total:
        term *= numerator / denominator * square
        total += term
        numerator, denominator = numerator + 2, denominator + 2
    return total
