"""The laws of Amdahl, Gustafson and universal scalability, as curves over the number of workers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.laws.law import Array, Law


def rational_law(
    *,
    name: str,
    overheads: Callable[[Array], Array],
    upper: tuple[float, ...],
    least_points: int,
    is_relative: bool,
) -> Law:
    """A law whose curve is p ÷ (1 + overheads); each overhead is a coefficient times a polynomial in p.

    `overheads` maps workers to the polynomials: a row per size, a column per coefficient, all zero at one worker."""

    def denominator(workers: Array, coefficients: Array) -> Array:
        total: Array = 1 + overheads(workers) @ coefficients
        return total

    def curve(workers: Array, coefficients: Array) -> Array:
        return workers / denominator(workers, coefficients)

    def slopes(workers: Array, coefficients: Array) -> Array:
        steepness = -workers / denominator(workers, coefficients) ** 2
        return steepness[:, None] * overheads(workers)

    def start(workers: Array, throughput: Array) -> Array:
        """Start from a linear fit: workers ÷ throughput is linear in 1/gamma and in the coefficients over gamma. The
        weights make its residuals close to those of throughput."""
        from scipy.optimize import nnls

        weights = throughput**2 / workers
        columns = np.column_stack([np.ones_like(workers), overheads(workers)]) * weights[:, None]
        sizes = np.linalg.norm(columns, axis=0)
        solution = nnls(columns / sizes, throughput)[0] / sizes
        per_worker = (throughput / workers).max()
        gamma = 1 / solution[0] if solution[0] > 0 else per_worker
        return np.concatenate([[gamma], solution[1:] * gamma])

    return Law(
        name=name,
        upper=upper,
        least_points=least_points,
        is_relative=is_relative,
        curve=curve,
        slopes=slopes,
        start=start,
    )


AMDAHL = rational_law(
    name="amdahl",
    overheads=lambda workers: (workers - 1)[:, None],
    upper=(1.0,),
    least_points=3,
    is_relative=True,
)
"""X(p) = gamma × p ÷ (1 + alpha (p - 1)) = gamma ÷ (alpha + (1 - alpha) / p). Strong scaling: one worker does the
fraction alpha of the work while the others wait."""


def _curve(workers: Array, coefficients: Array) -> Array:
    line: Array = workers - coefficients[0] * (workers - 1)
    return line


def _slopes(workers: Array, coefficients: Array) -> Array:  # noqa: ARG001 - a straight line
    return -(workers - 1)[:, None]


def _start(workers: Array, throughput: Array) -> Array:
    """Start from a linear fit: the law is a straight line with a constant and a growing part, neither negative."""
    from scipy.optimize import nnls

    constant, growing = nnls(np.column_stack([np.ones_like(workers), workers]), throughput)[0]
    gamma = constant + growing
    return np.array([gamma, constant / gamma])


GUSTAFSON = Law(
    name="gustafson",
    upper=(1.0,),
    least_points=3,
    is_relative=True,
    curve=_curve,
    slopes=_slopes,
    start=_start,
)
"""X(p) = gamma × (p - alpha (p - 1)). Weak scaling: the work grows with the workers, except in the fraction alpha of
the time."""


USL = rational_law(
    name="usl",
    overheads=lambda workers: np.column_stack([workers - 1, workers * (workers - 1)]),
    upper=(1.0, np.inf),
    least_points=4,
    is_relative=False,
)
"""X(n) = gamma × n ÷ (1 + alpha (n - 1) + beta n (n - 1)). Alpha is contention, as in Amdahl's law; beta is coherency,
a cost for each pair of workers."""
