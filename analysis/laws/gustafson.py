"""Gustafson's law: the work grows with the workers, and a fraction of the time goes to what does not. Weak scaling."""

from __future__ import annotations

import numpy as np

from analysis.laws.law import Array, Law


def _curve(workers: Array, coefficients: Array) -> Array:
    line: Array = workers - coefficients[0] * (workers - 1)
    return line


def _slopes(workers: Array, coefficients: Array) -> Array:  # noqa: ARG001 - a straight line
    return -(workers - 1)[:, None]


def _start(workers: Array, throughput: Array) -> Array:
    """The law is a straight line with a part that is constant and one that grows, neither negative."""
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
"""X(p) = gamma × (p - alpha (p - 1))."""
