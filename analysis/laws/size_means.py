"""The runs of a case reduced to a mean for each size, adjusted for rounds, and the noise of runs around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.laws.law import Array


@dataclass(frozen=True, kw_only=True)
class SizeMeans:
    """All that a fit of a law needs of the runs: the sum of squares of any curve is the one around the means plus
    `squares`."""

    workers: Array
    """The sizes, in order."""
    logs: Array
    """ln(throughput) of each size in an average round."""
    precision: Array
    """Inverse of the covariance of `logs`, for runs with variance 1: (sizes, sizes)."""
    squares: float
    """Sum of squares of the runs around the means: noise that no law could explain."""
    degrees: int
    """Its degrees of freedom."""
    runs: int

    @property
    def variances(self) -> Array:
        """Variance of each of `logs`, for runs with variance 1."""
        return np.linalg.inv(self.precision).diagonal().astype(np.float64)


def size_means(workers: Array, logs: Array, rounds: Sequence[int | None]) -> SizeMeans:
    """Least squares with an effect for each size and each round, for runs given by their workers, ln(throughput) and
    round. Rounds have no effects if a run's round is unknown, or if sizes could explain the same differences."""
    sizes, size = np.unique(workers, return_inverse=True)
    of_size = np.eye(len(sizes))[size]
    if len(set(rounds)) > 1 and None not in rounds:
        found, place = np.unique(np.array(rounds, dtype=np.int64), return_inverse=True)
        # Effects that add up to 0: the means are those of an average round.
        coding = np.vstack([np.eye(len(found) - 1), -np.ones(len(found) - 1)])
        adjusted = _adjusted(sizes, of_size, logs, coding[place])
        if adjusted is not None:
            return adjusted
    plain = _adjusted(sizes, of_size, logs, np.empty((len(logs), 0)))
    assert plain is not None
    return plain


def _adjusted(sizes: Array, of_size: Array, logs: Array, of_round: Array) -> SizeMeans | None:
    """The means next to the effects in `of_round`, (runs, effects); None if both cannot be known."""
    design = np.hstack([of_size, of_round])
    squares = design.T @ design
    if np.linalg.matrix_rank(squares) < len(squares):
        return None
    effects = np.linalg.solve(squares, design.T @ logs).astype(np.float64)
    count = len(sizes)
    shared = squares[:count, count:] @ np.linalg.solve(squares[count:, count:], squares[count:, :count])
    return SizeMeans(
        workers=sizes,
        logs=effects[:count],
        precision=squares[:count, :count] - shared,
        squares=float(np.sum((logs - design @ effects) ** 2)),
        degrees=len(logs) - len(squares),
        runs=len(logs),
    )
