"""Laws whose curve is p ÷ (1 + overheads): each overhead is a coefficient times a polynomial in p."""

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
    """`overheads`: workers to a row per size and a column per coefficient, all zero at one worker."""

    def denominator(workers: Array, coefficients: Array) -> Array:
        total: Array = 1 + overheads(workers) @ coefficients
        return total

    def curve(workers: Array, coefficients: Array) -> Array:
        return workers / denominator(workers, coefficients)

    def slopes(workers: Array, coefficients: Array) -> Array:
        steepness = -workers / denominator(workers, coefficients) ** 2
        return steepness[:, None] * overheads(workers)

    def start(workers: Array, throughput: Array) -> Array:
        """workers ÷ throughput is linear in 1/gamma and the coefficients over gamma; the weights make its residuals
        close to those of throughput."""
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
