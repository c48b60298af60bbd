"""Student's t and the interval of a median, for nodes that decide without SciPy or DuckDB whether to repeat.

The macros of results.duckdb-schema/macros/statistics.sql are the same (tested)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import reduce

_COEFFICIENTS = (
    -0.18804363781575298, 2.115691298767761, -11.13355528034062, 36.40929527999736, -82.91450918655215,
    139.62194296623608, -180.1065143641185, 181.72985510248844, -144.8232635692599, 90.89732151914617,
    -43.97607025929754, 15.514865398676745, -3.4788696628981857, 0.2175988920016344, 0.24122868068758524,
    -0.09659257654820574, -0.23123518336523025, 0.15206885727974878, 0.7075853575757564, 1.2103647055608104,
    0.6729260978384966,
)  # fmt: skip
"""Coefficients of the polynomial in 1/df, the highest power first. It goes through the exact values of ln t at the 21
Chebyshev nodes of 1/df in [0, 1]. For SciPy's values its relative error is at most 1e-11 (tested)."""
_COEFFICIENTS_OF_STOPPED = (
    -0.17473223750029585, 1.9795790188961637, -10.50782301378865, 34.74946804960866, -80.30792754807193,
    137.87367688681502, -182.31683217049417, 189.59949334074014, -156.29108134215, 101.44571115985501,
    -50.54461842524605, 18.384428849435285, -4.468661337056283, 0.458866873870241, 0.3592616475985696,
    -0.19776718862002649, -0.3335975572263981, 0.21047089268204328, 0.8746969594138382, 1.3612937853428841,
    0.7459096348081955,
)  # fmt: skip
"""The same for 96.5 %."""
_OUTSIDE = 0.035
"""Probability that the interval of a growing session does not hold the median: with fixed repeats it would be 0.05."""


def half_width_of_stopped(logs: Sequence[float]) -> float | None:
    """The upper side of the interval of the middle of logarithms, as a fraction, where repeats are added until it is
    narrow: as the macro `median_interval` has it.

    Null below three values."""
    n = len(logs)
    if n < 3:
        return None
    if min(logs) == max(logs):  # rounding must not invent a variance
        return 0.0
    if n < 6:
        return math.expm1(t_quantile_of_stopped(n - 1) * statistics.stdev(logs) / math.sqrt(n))
    place, part = median_places(n)
    largest = sorted(logs, reverse=True)
    high = largest[place - 1] - part * (largest[place - 1] - largest[place])
    return math.expm1(high - statistics.median(logs))


def median_places(n: int) -> tuple[int, float]:
    """Which of `n` sorted values, 6 or more, enclose the ends of the 96.5 % interval of their median: the upper end is
    the place-th largest value, moved towards the next by the second number (Hettmansperger and Sheather 1986)."""

    def outside(place: int) -> float:
        return float(2 * sum(math.comb(n, fewer) for fewer in range(place)) / 2**n)

    place = max(k for k in range(1, n // 2 + 1) if outside(k) <= _OUTSIDE)
    if place + 1 > n / 2:
        return place, 0.0
    part = (_OUTSIDE - outside(place)) / (outside(place + 1) - outside(place))
    return place, (n - place) * part / (place + (n - 2 * place) * part)


def t_quantile(df: float) -> float:
    """The 95 % quantile at `df` degrees of freedom, 1 or more."""
    return _exp_of_polynomial(_COEFFICIENTS, df)


def t_quantile_of_stopped(df: float) -> float:
    """The 96.5 % quantile at `df` degrees of freedom, 1 or more: its intervals hold the truth in about 95 of 100
    sessions that stop as soon as the interval is narrow."""
    return _exp_of_polynomial(_COEFFICIENTS_OF_STOPPED, df)


def _exp_of_polynomial(coefficients: Sequence[float], df: float) -> float:
    return math.exp(reduce(lambda total, coefficient: total / df + coefficient, coefficients))
