"""Fit a law to ln(throughput) of runs, test it, and find profile-likelihood intervals of all that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.laws.law import Array, Law, Mask
from analysis.laws.size_means import SizeMeans, size_means
from bench.records.t_interval import t_quantile

Interval = tuple[float, float]

REJECTED = 0.05
"""A law whose lack of fit has a smaller p does not hold at the measured sizes."""
EXACT = 1e-6
"""Relative noise of runs below which only rounding is left: steps have whole nanoseconds."""
_NEAR = 1e-9
"""A coefficient is set to its bound if that changes ln(throughput) by less."""
_REFINEMENTS = 6
"""Each refinement of a search for the best loss divides the distance of its points by at least eight."""
_REFINEMENTS_OF_ENDS = 5
"""Each refinement of a search for the end of an interval divides the distance of its points by sixteen."""
_PRECISION = 1e-14
"""Fraction of the sum of squares by which a step must promise to reduce it."""
_MOST_STEPS = 100
_MOST_HALVINGS = 12
_POINTS = 33
"""Points of the grid over the region of coefficients, along each axis."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """The least squares estimate of a law, and the region of coefficients that the runs do not reject."""

    law: Law
    means: SizeMeans
    coefficients: Array
    log_gamma: float
    misfit: float
    """Sum of squares of the means around the curve, weighted by their precision."""

    @property
    def degrees(self) -> int:
        """Degrees of freedom of all residuals: of runs around means, and of means around the curve."""
        return self.means.degrees + self._degrees_of_misfit

    @property
    def _degrees_of_misfit(self) -> int:
        """A coefficient on its bound does not follow the runs."""
        free = np.count_nonzero((self.coefficients > 0) & (self.coefficients < self.law.upper))
        return len(self.means.workers) - 1 - int(free)

    @property
    def squares(self) -> float:
        return self.misfit + self.means.squares

    @property
    def variance(self) -> float:
        """Variance of ln(throughput) of a run, from all residuals."""
        return self.squares / self.degrees

    @property
    def lack_of_fit_p(self) -> float | None:
        """p of the F test whether the law holds at the measured sizes: the means' distance from the curve compared
        with the runs' distance from the means. None without repeats, or if the law passes through any means."""
        if not (self.means.degrees and self._degrees_of_misfit):
            return None
        noise = max(self.means.squares / self.means.degrees, EXACT**2)
        ratio = self.misfit / self._degrees_of_misfit / noise
        return f_tail(ratio, self._degrees_of_misfit, self.means.degrees)

    @property
    def is_rejected(self) -> bool:
        """Whether the law does not hold at the measured sizes."""
        return self.lack_of_fit_p is not None and self.lack_of_fit_p < REJECTED

    @property
    def is_at_bound(self) -> bool:
        """Whether a coefficient is 0, or alpha is 1."""
        return bool(np.any((self.coefficients == 0) | (self.coefficients == self.law.upper)))

    @property
    def errors(self) -> Array | None:
        """Standard errors of ln(gamma) and the coefficients by the delta method; None at a bound, where it fails."""
        if self.is_at_bound:
            return None
        slopes = self.law.log_slopes(self.means.workers, self.coefficients)
        jacobian = np.column_stack([np.ones(len(slopes)), slopes])
        covariance = self.variance * np.linalg.pinv(jacobian.T @ self.means.precision @ jacobian, rcond=1e-30)
        errors: Array = np.sqrt(covariance.diagonal())
        return errors

    @property
    def r2(self) -> float | None:
        """1 - residual ÷ total sum of squares of the means' ln(throughput); None if it does not vary."""
        around = self.means.logs - np.average(self.means.logs, weights=self.means.precision.sum(axis=0))
        total = float(around @ self.means.precision @ around)
        return None if total <= EXACT**2 else 1 - self.misfit / total

    @cached_property
    def region(self) -> Region:
        return Region(self)

    def log_throughput(self, workers: Array) -> Array:
        curve: Array = self.log_gamma + self.law.log_curve(workers, self.coefficients)
        return curve


def f_tail(ratio: float, above: int, below: int) -> float:
    """Probability that F with these degrees of freedom of numerator and denominator is larger."""
    from scipy.special import fdtrc

    return float(fdtrc(above, below, ratio))


def fit(law: Law, workers: Array, logs: Array, rounds: Sequence[int | None] | None = None) -> Fit:
    """Fit the law to runs, given by their workers, ln(throughput) and round; there are more sizes than parameters."""
    return fit_means(law, size_means(workers, logs, rounds or [None] * len(logs)))


def fit_means(law: Law, means: SizeMeans) -> Fit:
    """The same for runs that were reduced to means; as many sizes as parameters are enough."""
    surface = _Surface(law, means)
    shares = np.linspace(0, 1, _POINTS) if law.count > 1 else np.zeros(1)
    losses, squares = surface.best_losses(shares, 2)
    place = int(squares.argmin())
    coefficients = surface.refined(law.at(losses[place], shares[place], surface.largest))
    curve = surface.curve(coefficients)
    return Fit(
        law=law,
        means=means,
        coefficients=coefficients,
        log_gamma=float(surface.log_gamma(curve)),
        misfit=float(surface.squares(curve)),
    )


class _Surface:
    """Sums of squares of a law's curves around the means, over losses and shares; the best gamma each time."""

    def __init__(self, law: Law, means: SizeMeans) -> None:
        self.law, self.means, self.largest = law, means, float(means.workers[-1])
        root = np.linalg.cholesky(means.precision).T
        ones = root.sum(axis=1)
        self.weight = float(ones @ ones)
        """Precision of ln(gamma), for runs with variance 1."""
        self._projected = root - np.outer(ones, ones @ root) / self.weight
        self._averaging = ones @ root / self.weight

    def curve(self, coefficients: Array) -> Array:
        """ln(throughput ÷ gamma) at the sizes: (..., sizes)."""
        return self.law.log_curve(self.means.workers, coefficients)

    def curves(self, losses: Array, shares: Array) -> Array:
        """The same for losses and shares of one shape."""
        return self.curve(self.law.at(losses, shares, self.largest))

    def squares(self, curves: Array) -> Array:
        total: Array = np.sum(((self.means.logs - curves) @ self._projected.T) ** 2, axis=-1)
        return total

    def log_gamma(self, curves: Array) -> Array:
        best: Array = (self.means.logs - curves) @ self._averaging
        return best

    def refined(self, coefficients: Array) -> Array:
        """The coefficients with the smallest sum of squares near these: Gauss-Newton steps, cut off at the bounds and
        halved until they help."""
        upper = self.law.upper
        squares = float(self.squares(self.curve(coefficients)))
        for _ in range(_MOST_STEPS):
            residuals = self._projected @ (self.means.logs - self.curve(coefficients))
            jacobian = self._projected @ self.law.log_slopes(self.means.workers, coefficients)
            pull = residuals @ jacobian
            is_free = ~((coefficients <= 0) & (pull <= 0) | (coefficients >= upper) & (pull >= 0))
            scales = np.linalg.norm(jacobian, axis=0)[is_free]
            if not scales.all() or not is_free.any():
                break
            step = np.zeros_like(coefficients)
            step[is_free] = np.linalg.lstsq(jacobian[:, is_free] / scales, residuals, rcond=None)[0] / scales
            if float(np.sum((jacobian @ step) ** 2)) <= _PRECISION * squares:
                break
            for halvings in range(_MOST_HALVINGS):
                tried = np.clip(coefficients + step / 2**halvings, 0, upper)
                found = float(self.squares(self.curve(tried)))
                if found < squares:
                    break
            else:
                break
            coefficients, squares = tried, found
        effect = np.abs(self.law.log_slopes(self.means.workers[-1:], coefficients))[0]
        coefficients = np.where(coefficients * effect < _NEAR, 0.0, coefficients)
        return np.where((upper - coefficients) * effect < _NEAR, upper, coefficients)

    def best_losses(self, shares: Array, refinements: int = _REFINEMENTS) -> tuple[Array, Array]:
        """The loss with the smallest sum of squares for each share, and that sum."""
        low, high = np.zeros_like(shares), self.law.most(shares, self.largest)
        steps, every = np.linspace(0, 1, 17), np.arange(len(shares))
        for _ in range(refinements):
            losses = low[:, None] + (high - low)[:, None] * steps
            squares = self.squares(self.curves(losses, np.broadcast_to(shares[:, None], losses.shape)))
            place = squares.argmin(axis=1)
            low, high = losses[every, np.maximum(place - 1, 0)], losses[every, np.minimum(place + 1, 16)]
        return losses[every, place], squares[every, place]


class Region:
    """The curves that the runs do not reject, on a grid: their sum of squares exceeds the smallest by no more than
    the variance of a run times the square of Student's t. The interval of any quantity is its range over them, the
    profile-likelihood interval. A bound of a coefficient only cuts the region off."""

    def __init__(self, found: Fit) -> None:
        law, means = found.law, found.means
        surface = _Surface(law, means)
        limit = found.misfit + found.variance * t_quantile(found.degrees) ** 2

        def has_share(shares: Array) -> Mask:
            return surface.best_losses(shares.ravel())[1].reshape(shares.shape) <= limit

        best_loss = np.log(surface.largest) - law.log_curve(means.workers[-1:], found.coefficients)
        shares = _share(found, best_loss)
        if law.count > 1:
            low, high = _farthest(has_share, shares, np.array([[0.0], [1.0]]))
            shares = np.union1d(np.linspace(low, high, _POINTS), shares)
        losses, _ = surface.best_losses(shares)

        def has_loss(losses: Array) -> Mask:
            return surface.squares(surface.curves(losses, np.broadcast_to(shares, losses.shape))) <= limit

        low, high = _farthest(
            has_loss, losses, np.stack([np.zeros_like(losses), law.most(shares, surface.largest)])
        )
        losses = low + (high - low) * np.linspace(0, 1, _POINTS)[:, None]
        shares = np.broadcast_to(shares, losses.shape)
        curves = surface.curves(losses, shares)
        slack = limit - surface.squares(curves)
        is_inside = slack >= -1e-9 * limit
        self._fit = found
        self.coefficients = law.at(losses, shares, surface.largest)[is_inside]
        """The coefficients of each curve: (curves, count)."""
        self._log_gamma = surface.log_gamma(curves)[is_inside]
        self._reach = np.sqrt(np.maximum(slack[is_inside], 0) / surface.weight)
        """How far ln(gamma) of each curve may be from its best value."""

    def interval(self, quantity: Callable[[Array], Array]) -> Interval:
        """The range of a quantity that depends on the coefficients alone; it takes (..., count) and returns (...)."""
        values = np.append(quantity(self.coefficients), quantity(self._fit.coefficients))
        return float(values.min()), float(values.max())

    def log_interval(self, quantity: Callable[[Array], Array]) -> Interval:
        """The range of ln(gamma) plus such a quantity."""
        values = quantity(self.coefficients) + self._log_gamma
        best = float(quantity(self._fit.coefficients)) + self._fit.log_gamma
        low, high = np.append(values - self._reach, best).min(), np.append(values + self._reach, best).max()
        return float(low), float(high)


def _share(found: Fit, loss: Array) -> Array:
    """The share of the overhead at the largest size that the last coefficient causes: (1,)."""
    if found.law.count == 1 or loss == 0:
        return np.zeros(1)
    alone = found.law.at(loss, np.ones(1), float(found.means.workers[-1]))
    return np.minimum(found.coefficients[-1:] / alone[:, -1], 1)


def _farthest(has: Callable[[Array], Mask], start: Array, ends: Array) -> Array:
    """The point nearest to each end that is inside: (ends, starts). Starts are inside; ends are (ends, starts or 1)."""
    steps = np.linspace(0, 1, 17)[:, None, None]
    start, ends = np.broadcast_arrays(start, ends)
    for _ in range(_REFINEMENTS_OF_ENDS):
        points = start + (ends - start) * steps
        is_inside = has(points)
        is_inside[0] = True
        place = 16 - is_inside[::-1].argmax(axis=0)[None]
        start, ends = (
            np.take_along_axis(points, where, axis=0)[0] for where in (place, np.minimum(place + 1, 16))
        )
    return start
