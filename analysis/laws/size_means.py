"""The runs of a case reduced to one value for each size, adjusted for rounds, with the variance of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_PRIOR_DEGREES = 4
"""A size's own variance is drawn towards that of all sizes as if this many degrees of freedom had shown that one."""
_MEDIAN_FROM = 6
"""From this many runs, a size's value is their median, which no single run moves."""
_VARIANCE_OF_MEDIAN = np.pi / 2
"""Variance of a median ÷ that of a mean, for normal noise."""


@dataclass(frozen=True, kw_only=True)
class SizeMeans:
    """All that a law needs of the runs."""

    workers: Array
    """The sizes, in order."""
    logs: Array
    """ln(throughput) of each size in an average round."""
    variances: Array
    """Variance of each of `logs` by the noise between runs; 0 if no size has two runs."""
    degrees: int
    """Degrees of freedom of that noise; 0 without repeats."""

    def without_largest(self) -> SizeMeans:
        return SizeMeans(
            workers=self.workers[:-1],
            logs=self.logs[:-1],
            variances=self.variances[:-1],
            degrees=self.degrees,
        )


def size_means(workers: Array, logs: Array, rounds: Sequence[int | None]) -> SizeMeans:
    """Reduce runs, given by their workers, ln(throughput) and round. Rounds have no effects if a run's round is
    unknown, or if sizes could explain the same differences."""
    sizes, size = np.unique(workers, return_inverse=True)
    adjusted, degrees = _without_rounds(np.eye(len(sizes))[size], logs, rounds)
    runs = np.bincount(size)
    parts = [adjusted[size == place] for place in range(len(sizes))]
    squares = np.array([np.sum((part - part.mean()) ** 2) for part in parts])
    freedom = runs - 1
    # Effects of rounds take degrees of freedom from every size alike.
    scale = freedom.sum() / degrees if degrees else 0.0
    pooled = squares.sum() / degrees if degrees else 0.0
    own = (_PRIOR_DEGREES * pooled + scale * squares) / (_PRIOR_DEGREES + freedom)
    is_median = runs >= _MEDIAN_FROM
    return SizeMeans(
        workers=sizes,
        logs=np.array([np.median(p) if m else p.mean() for p, m in zip(parts, is_median, strict=True)]),
        variances=own / runs * np.where(is_median, _VARIANCE_OF_MEDIAN, 1),
        degrees=degrees,
    )


def _without_rounds(of_size: Array, logs: Array, rounds: Sequence[int | None]) -> tuple[Array, int]:
    """ln(throughput) of each run without its round's effect, and the degrees of freedom of the noise around sizes."""
    plain = logs, len(logs) - of_size.shape[1]
    if len(set(rounds)) < 2 or None in rounds:
        return plain
    found, place = np.unique(np.array(rounds, dtype=np.int64), return_inverse=True)
    # Effects that add up to 0: what is left is an average round.
    of_round = np.vstack([np.eye(len(found) - 1), -np.ones(len(found) - 1)])[place]
    design = np.hstack([of_size, of_round])
    if len(logs) <= design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        return plain
    effects = np.linalg.lstsq(design, logs, rcond=None)[0][of_size.shape[1] :]
    return logs - of_round @ effects, len(logs) - design.shape[1]
