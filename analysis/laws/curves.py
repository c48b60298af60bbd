"""The laws of Amdahl, Gustafson and universal scalability, as curves over the number of workers."""

from __future__ import annotations

import numpy as np

from analysis.laws.law import Array, Law

_LARGEST_LOSS = 20.0
"""Bound on the loss of a law whose coefficients have none: no one measures an efficiency of exp(-20)."""


def _rational(*, name: str, count: int, least_points: int, is_relative: bool) -> Law:
    """X(p) = gamma × p ÷ (1 + alpha (p - 1) + beta p (p - 1)), with beta = 0 if there is one coefficient."""

    def overheads(workers: Array) -> Array:
        """The factor of each coefficient: (count, k), zero at one worker."""
        found: Array = np.array([workers - 1, workers * (workers - 1)][:count])
        return found

    def log_curve(workers: Array, coefficients: Array) -> Array:
        curve: Array = np.log(workers) - np.log1p(coefficients @ overheads(workers))
        return curve

    def log_slopes(workers: Array, coefficients: Array) -> Array:
        of_size = overheads(workers)
        slopes: Array = -(of_size / (1 + coefficients @ of_size)).T
        return slopes

    def at(losses: Array, shares: Array, largest: float) -> Array:
        total = np.expm1(losses)
        found = np.empty((*total.shape, count))
        found[..., 0] = np.minimum(total * (1 - shares) / (largest - 1), 1)  # only rounding is above 1
        if count > 1:
            found[..., 1] = total * shares / (largest * (largest - 1))
        return found

    def most(shares: Array, largest: float) -> Array:
        with np.errstate(divide="ignore"):
            losses: Array = np.log1p((largest - 1) / (1 - shares))
        return np.minimum(losses, _LARGEST_LOSS)

    return Law(
        name=name,
        count=count,
        least_points=least_points,
        is_relative=is_relative,
        is_serial=count == 1,
        is_within_universal=count == 1,
        log_curve=log_curve,
        log_slopes=log_slopes,
        at=at,
        most=most,
    )


AMDAHL = _rational(name="amdahl", count=1, least_points=3, is_relative=True)
"""X(p) = gamma × p ÷ (1 + alpha (p - 1)) = gamma ÷ (alpha + (1 - alpha) / p). Strong scaling: one worker does the
fraction alpha of the work while the others wait."""

USL = _rational(name="usl", count=2, least_points=4, is_relative=False)
"""X(n) = gamma × n ÷ (1 + alpha (n - 1) + beta n (n - 1)). Alpha is contention, as in Amdahl's law; beta is coherency,
a cost for each pair of workers."""


def _line(workers: Array, coefficients: Array) -> Array:
    """p - alpha (p - 1); written so that it is exactly 1 for alpha = 1."""
    line: Array = 1 + (1 - coefficients) * (workers - 1)
    return line


def _at(losses: Array, shares: Array, largest: float) -> Array:  # noqa: ARG001 - there is one coefficient
    return np.minimum(-np.expm1(-losses) * largest / (largest - 1), 1)[..., None]


GUSTAFSON = Law(
    name="gustafson",
    count=1,
    least_points=3,
    is_relative=True,
    is_serial=True,
    is_within_universal=False,
    log_curve=lambda workers, coefficients: np.log(_line(workers, coefficients)),
    log_slopes=lambda workers, coefficients: (-(workers - 1) / _line(workers, coefficients))[:, None],
    at=_at,
    most=lambda shares, largest: np.full_like(shares, np.log(largest)),
)
"""X(p) = gamma × (p - alpha (p - 1)). Weak scaling: the work grows with the workers, except in the fraction alpha of
the time."""
