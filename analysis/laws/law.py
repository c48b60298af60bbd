"""A scaling law: a curve over workers with a scale and one or two coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Law:
    """X(p) = gamma × curve(p): throughput X over workers p; the scale gamma is X(1).

    A fit searches over two numbers that measurements determine almost independently: the *loss*, -ln(efficiency) at
    the largest size, and the *share* of the overhead there that the last of two coefficients causes."""

    name: str
    """The name in `law_fits.law`."""
    count: int
    """Number of coefficients, 1 or 2; the smallest value of each is 0."""
    least_points: int
    """Fewest sizes for a fit: one more than the law has parameters."""
    is_relative: bool
    """Workers are counted in units of the smallest measured size, so that alpha is comparable with Karp-Flatt's."""
    is_serial: bool
    """The law knows only a serial part: no worker slows down another."""
    is_within_universal: bool
    """The law is the universal law with its last coefficient at 0."""
    log_curve: Callable[[Array, Array], Array]
    """Takes k sizes and coefficients (..., count); returns ln(throughput ÷ gamma) (..., k)."""
    log_slopes: Callable[[Array, Array], Array]
    """Takes k sizes and one set of coefficients; returns the derivatives of `log_curve`: (k, count)."""
    at: Callable[[Array, Array, float], Array]
    """Takes losses and shares of one shape and the largest size; returns the coefficients (..., count)."""
    most: Callable[[Array, float], Array]
    """Takes shares and the largest size; returns the largest loss that the bounds of the coefficients allow."""

    @property
    def upper(self) -> Array:
        """The largest value of each coefficient."""
        return np.array([1, np.inf])[: self.count]

    @property
    def parameters(self) -> int:
        """Gamma included."""
        return 1 + self.count
