"""Fit a law to measured throughput by bounded non-linear least squares, like R's package `usl`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.laws.law import Array, Law

_NEAR = 1e-3
"""A coefficient counts as on its bound if moving it there changes throughput by less than this fraction."""
_ROUNDING = 1e-6
"""Distance that the iteration may leave between a coefficient and its bound, as a fraction of the one for _NEAR."""
_EXACT = 1e-24
"""Below this sum of squares, relative to that of the throughput, only rounding is left."""
_PRECISION = 1e-15
"""Relative change at which the iteration stops."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """The least squares estimate of a law."""

    values: Array
    """Gamma in the unit of the throughput, then the coefficients."""
    errors: Array | None
    """Standard errors of the values, for noise of the same size at every point, as R's `usl` and `nls` report them;
    None if the points do not determine all values."""
    covariance: Array | None
    """Covariance of ln(gamma) and the coefficients, for noise in proportion to the throughput; None as above."""
    is_at_bound: bool
    """A coefficient is 0 or at its largest value: intervals from the covariance are then only a hint."""
    r2: float | None
    """1 - residual ÷ total sum of squares of throughput; None if the throughput does not vary."""


def fit(law: Law, workers: Array, throughput: Array) -> Fit:
    """Fit the law to at least `law.least_points` sizes with positive throughput. Raises ValueError if no curve fits."""
    unit = throughput.max()
    problem = _Problem(law=law, workers=workers, throughput=throughput / unit)
    scaled = _on_bounds(problem, _best(problem, law.start(workers, problem.throughput), {}))
    spread = _spread(problem.jacobian(scaled))
    scales = np.array([unit, *np.ones(law.parameters - 1)])
    return Fit(
        values=scaled * scales,
        errors=None if spread is None else _errors(problem, scaled, spread) * scales,
        covariance=None if spread is None else _covariance(problem, scaled, spread),
        is_at_bound=bool(_bounds_reached(law, scaled, _ROUNDING * _reach(problem, scaled))),
        r2=_r2(problem.throughput, problem.squares(scaled)),
    )


@dataclass(frozen=True, kw_only=True)
class _Problem:
    law: Law
    workers: Array
    throughput: Array

    @property
    def degrees(self) -> int:
        """Degrees of freedom."""
        return len(self.workers) - self.law.parameters

    def residuals(self, values: Array) -> Array:
        found: Array = values[0] * self.law.curve(self.workers, values[1:]) - self.throughput
        return found

    def squares(self, values: Array) -> float:
        return float(np.sum(self.residuals(values) ** 2))

    def jacobian(self, values: Array) -> Array:
        curve = self.law.curve(self.workers, values[1:])
        return np.column_stack([curve, values[0] * self.law.slopes(self.workers, values[1:])])


def _best(problem: _Problem, start: Array, fixed: dict[int, float]) -> Array:
    """The least squares values; those in `fixed` stay, the others begin at `start`."""
    from scipy.optimize import least_squares

    values = start.copy()
    for place, value in fixed.items():
        values[place] = value
    free = [place for place in range(len(values)) if place not in fixed]

    def whole(part: Array) -> Array:
        values[free] = part
        return values

    upper = np.array([np.inf, *problem.law.upper])[free]
    found = least_squares(
        lambda part: problem.residuals(whole(part)),
        np.clip(start[free], 0, upper),
        jac=lambda part: problem.jacobian(whole(part))[:, free],
        bounds=(np.zeros(len(free)), upper),
        x_scale="jac",
        ftol=_PRECISION,
        xtol=_PRECISION,
        gtol=_PRECISION,
        max_nfev=1_000,
    )
    return whole(found.x).copy()


def _on_bounds(problem: _Problem, values: Array) -> Array:
    """Move coefficients to their bounds: the iteration ends slightly inside them, but a zero must be exactly 0."""
    near = dict(_bounds_reached(problem.law, values, _reach(problem, values)))
    exact = _EXACT * float(np.sum(problem.throughput**2))
    good_enough = max(problem.squares(values), exact)
    for count in range(len(near), 0, -1):
        for fixed in combinations(near.items(), count):
            tried = _best(problem, values, dict(fixed))
            if problem.squares(tried) <= good_enough:
                return tried
    return values


def _reach(problem: _Problem, values: Array) -> Array:
    """The distance of each coefficient that changes some throughput by the fraction _NEAR."""
    effect = np.abs(problem.law.slopes(problem.workers, values[1:])).max(axis=0)
    reach: Array = _NEAR * problem.law.curve(problem.workers, values[1:]).max() / effect
    return reach


def _bounds_reached(law: Law, values: Array, within: Array) -> list[tuple[int, float]]:
    """Index and bound of each coefficient that is within `within` of a bound; the last coefficient first."""
    return [
        (1 + place, bound)
        for place in reversed(range(len(law.upper)))
        for bound in (0.0, law.upper[place])
        if abs(values[1 + place] - bound) <= within[place]
    ]


def _spread(jacobian: Array) -> Array | None:
    """(J'J)⁻¹J': how far a deviation of each point moves each value; None if J is singular. J is scaled, so that
    millions of workers do not make it look singular."""
    sizes = np.linalg.norm(jacobian, axis=0)
    if not sizes.all() or np.linalg.matrix_rank(jacobian / sizes) < jacobian.shape[1]:
        return None
    spread: Array = np.linalg.pinv(jacobian / sizes) / sizes[:, None]
    return spread


def _errors(problem: _Problem, values: Array, spread: Array) -> Array:
    variance = problem.squares(values) / problem.degrees
    errors: Array = np.sqrt(variance * np.sum(spread**2, axis=1))
    return errors


def _covariance(problem: _Problem, values: Array, spread: Array) -> Array:
    """The variance of the relative noise comes from the part of the relative residuals that no change of the values
    explains. Its degrees of freedom are the number of points minus that of parameters."""
    curve = values[0] * problem.law.curve(problem.workers, values[1:])
    explained, _ = np.linalg.qr(problem.jacobian(values) / curve[:, None])
    residuals = problem.residuals(values) / curve
    residuals -= explained @ (explained.T @ residuals)
    moved = spread * curve
    moved[0] /= values[0]
    covariance: Array = residuals @ residuals / problem.degrees * (moved @ moved.T)
    return covariance


def _r2(throughput: Array, squares: float) -> float | None:
    total = float(np.sum((throughput - throughput.mean()) ** 2))
    if total <= _EXACT * float(np.sum(throughput**2)):
        return None
    return 1 - squares / total
