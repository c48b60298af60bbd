"""A scaling law: a curve over workers with a scale and one or two coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Law:
    """X(p) = gamma × curve(p): throughput X over workers p; the scale gamma is X(1)."""

    name: str
    """The name in `law_fits.law`."""
    upper: tuple[float, ...]
    """Largest value of each coefficient; the smallest is 0."""
    least_points: int
    """Fewest sizes for a fit: one more than the law has parameters."""
    is_relative: bool
    """Workers are counted in units of the smallest measured size, so that alpha is comparable with Karp-Flatt's."""
    curve: Callable[[Array, Array], Array]
    """Takes workers and coefficients; returns throughput ÷ gamma."""
    slopes: Callable[[Array, Array], Array]
    """Takes workers and coefficients; returns the curve's derivatives: a row per size, a column per coefficient."""
    start: Callable[[Array, Array], Array]
    """Takes workers and throughput; returns gamma and the coefficients from which the fit begins."""

    @property
    def parameters(self) -> int:
        """Gamma included."""
        return 1 + len(self.upper)
