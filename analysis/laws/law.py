"""A scaling law: a curve over workers with a scale and one or two coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Law:
    """X(p) = gamma × curve(p): throughput over workers p, the scale gamma being X(1)."""

    name: str
    """The name in `law_fits.law`."""
    upper: tuple[float, ...]
    """Largest value of each coefficient; the smallest is 0."""
    least_points: int
    """Fewest sizes that it is fitted to: one more than it has parameters."""
    is_relative: bool
    """Counts workers in units of the smallest measured size, so that its fraction reads like Karp-Flatt's."""
    curve: Callable[[Array, Array], Array]
    """Workers and coefficients to throughput ÷ gamma."""
    slopes: Callable[[Array, Array], Array]
    """Workers and coefficients to the derivatives of the curve: a row per size, a column per coefficient."""
    start: Callable[[Array, Array], Array]
    """Workers and throughput to gamma and the coefficients from which the fit begins."""

    @property
    def parameters(self) -> int:
        """Gamma included."""
        return 1 + len(self.upper)
