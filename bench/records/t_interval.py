"""Student's t, two-sided, 95 %, for nodes that decide without SciPy or DuckDB whether to repeat.

The macro t_quantile in results.duckdb-schema/macros/statistics.sql is the same polynomial (tested)."""

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


def relative_half_width(values: Sequence[float]) -> float | None:
    """The upper, longer half of the 95 % interval around the geometric mean, as a fraction of that mean.

    Null below two values."""
    if len(values) < 2:
        return None
    if min(values) == max(values):  # rounding must not invent a variance
        return 0.0
    deviation = statistics.stdev(map(math.log, values))
    return math.expm1(t_quantile(len(values) - 1) * deviation / math.sqrt(len(values)))


def t_quantile(df: float) -> float:
    """The quantile at `df` degrees of freedom, 1 or more."""
    return math.exp(reduce(lambda total, coefficient: total / df + coefficient, _COEFFICIENTS))
