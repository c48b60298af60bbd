"""The forms of a law: the time of a step as a sum of terms whose coefficients are not negative."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.laws.size_means import Array

_SOLUTIONS = 3
"""Least squares relative to the times, then with weights that make it least squares in their logarithm."""
_LEAST_FIT = 0.01
"""The weights take a fitted time as at least this fraction of the measured one."""
_RIDGE = 1e-13
"""Keeps the equations of almost equal sizes solvable; the columns have length 1."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """Time of a step with u times the workers of the smallest size."""

    name: str
    """As in `law_fits.best_form`."""
    terms: tuple[Callable[[Array], Array], ...]
    """Terms over u. The last of them is the growing one, which is 0 at u = 1, if any is."""
    quantities: Mapping[str, Callable[[Array], Array]]
    """Column of `law_fits` -> its value for coefficients (..., terms). Peaks are in u, infinite if there is none."""

    def times(self, coefficients: Array, sizes: Array) -> Array:
        """Times for coefficients (..., terms) at sizes u (k): (..., k)."""
        found: Array = coefficients @ self._columns(sizes)
        return found

    def fit(self, sizes: Array, times: Array, variances: Array) -> Array:
        """Coefficients (draws, terms) for times (draws, k) at sizes u (k), whose logarithms have these variances (k).

        Non-negative least squares, exactly: of the solutions with some of the terms, the best without a negative
        coefficient. A form has at most three terms."""
        columns, scale = self._columns(sizes), times
        for _ in range(_SOLUTIONS):
            weights = 1 / (scale * np.sqrt(variances))
            coefficients = _non_negative(columns * weights[:, None, :], times * weights, self._subsets())
            scale = np.sqrt(np.maximum(coefficients @ columns, _LEAST_FIT * times) * times)
        return coefficients

    def _columns(self, sizes: Array) -> Array:
        return np.array([term(sizes) for term in self.terms])

    def _subsets(self) -> list[list[int]]:
        """Places of terms that can make up a time: not the growing term alone, which is 0 at the smallest size."""
        places = range(len(self.terms))
        found = [list(kept) for count in places for kept in combinations(places, count + 1)]
        return [kept for kept in found if any(self.terms[place](np.ones(1))[0] > 0 for place in kept)]


def _non_negative(columns: Array, target: Array, subsets: list[list[int]]) -> Array:
    """Coefficients (draws, terms) that bring the sum of columns (draws, terms, k) nearest to the target (draws, k)."""
    lengths = np.linalg.norm(columns, axis=2)
    unit = columns / lengths[..., None]
    squares, pull = unit @ unit.swapaxes(1, 2), np.einsum("dtk,dk->dt", unit, target)
    best, found = np.full(len(target), np.inf), np.zeros_like(pull)
    for kept in subsets:
        part = squares[:, kept][:, :, kept] + _RIDGE * np.eye(len(kept))
        tried = np.zeros_like(pull)
        tried[:, kept] = np.linalg.solve(part, pull[:, kept, None])[..., 0]
        distance = np.sum((np.einsum("dt,dtk->dk", tried, unit) - target) ** 2, axis=1)
        is_better = (tried >= 0).all(axis=1) & (distance < best)
        best, found = np.where(is_better, distance, best), np.where(is_better[:, None], tried, found)
    coefficients: Array = found / lengths
    return coefficients


def _ratio(above: Array, below: Array) -> Array:
    """Infinite if `below` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.where(below > 0, above / below, np.inf)
    return found


def _shared(sizes: Array) -> Array:
    return 1 / sizes


def _constant(sizes: Array) -> Array:
    return np.ones_like(sizes)


def _saturating(sizes: Array) -> Array:
    return 1 - 1 / sizes


def _pairs(sizes: Array) -> Array:
    return sizes - 1


def _serial_fraction(found: Array) -> Array:
    return found[..., 1] / (found[..., 0] + found[..., 1])


def _growth_of_strong(found: Array) -> Array:
    return found[..., 2] / (found[..., 0] + found[..., 1])


def _growth_of_weak(found: Array) -> Array:
    return found[..., 1] / found[..., 0]


_STRONG = {"serial_fraction": _serial_fraction}
_WEAK = {"growth": _growth_of_weak}

FORMS = {
    "strong": (
        Form(name="saturating", terms=(_shared, _constant), quantities=_STRONG),
        Form(
            name="log",
            terms=(_shared, _constant, np.log2),
            quantities=_STRONG
            | {
                "growth": _growth_of_strong,
                # where a ÷ u + c log2 u is smallest
                "peak_workers": lambda found: _ratio(np.log(2) * found[..., 0], found[..., 2]),
            },
        ),
        Form(
            name="pairs",
            terms=(_shared, _constant, _pairs),
            quantities=_STRONG
            | {
                "growth": _growth_of_strong,
                # where a ÷ u + c u is smallest
                "peak_workers": lambda found: np.sqrt(_ratio(found[..., 0], found[..., 2])),
            },
        ),
    ),
    "weak": (
        Form(name="saturating", terms=(_constant, _saturating), quantities=_WEAK),
        Form(name="log", terms=(_constant, np.log2), quantities=_WEAK),
        Form(name="pairs", terms=(_constant, _pairs), quantities=_WEAK),
    ),
}
"""Mode of scaling -> its forms. Strong: a ÷ u + b is Amdahl's law, which saturates at b; c log2 u is what messages
along a tree take; c (u - 1) is a cost of each pair of workers, as in Gunther's universal law. Weak: b + c (1 - 1 ÷ u)
is what messages around a ring take, close to Gustafson's law; b + c log2 u and b + c (u - 1) as above. Weak scaling
has no peak: as long as time grows less than in proportion to workers, throughput grows."""
