"""The Universal Scalability Law: contention as in Amdahl's law, and coherency, a cost per pair of workers."""

from __future__ import annotations

import numpy as np

from analysis.laws.law import Array
from analysis.laws.rational import rational_law


def _overheads(workers: Array) -> Array:
    return np.column_stack([workers - 1, workers * (workers - 1)])


USL = rational_law(
    name="usl",
    overheads=_overheads,
    upper=(1.0, np.inf),
    least_points=4,
    is_relative=False,
)
"""X(n) = gamma × n ÷ (1 + alpha (n - 1) + beta n (n - 1))."""
