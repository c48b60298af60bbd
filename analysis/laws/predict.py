"""Predict throughput at a size by a fitted law, and show how far off it would have been at the largest measured one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.laws.fit import Fit, Interval, fit_means
from analysis.laws.law import Array, Law
from analysis.laws.size_means import size_means
from bench.records.t_interval import t_quantile


def predicted(one: Fit, workers: float) -> float:
    """ln(throughput) at a size. A serial law never predicts that a larger size is more efficient than the largest
    measured one."""
    log = float(one.log_throughput(np.array([workers]))[0])
    return min(log, _linear(one, workers)) if _is_capped(one, workers) else log


def interval(one: Fit, workers: float) -> Interval:
    """95 % interval of the law's ln(throughput) at a size; the bound of a serial law has its own uncertainty."""
    size = np.array([workers])
    low, high = one.region.log_interval(lambda coefficients: one.law.log_curve(size, coefficients)[..., 0])
    if _is_capped(one, workers):
        half_width = t_quantile(one.degrees) * np.sqrt(one.variance * one.means.variances[-1])
        linear = _linear(one, workers)
        low, high = min(low, linear), min(high, linear + float(half_width))
    return low, high


def _is_capped(one: Fit, workers: float) -> bool:
    return one.law.is_serial and workers > one.means.workers[-1]


def _linear(one: Fit, workers: float) -> float:
    """ln(throughput) at the efficiency of the largest measured size."""
    return float(one.means.logs[-1] + np.log(workers / one.means.workers[-1]))


def left_out_error(
    law: Law, workers: Array, logs: Array, rounds: Sequence[int | None], measured: float
) -> float | None:
    """Predicted ÷ measured throughput of the largest size - 1, if the law is fitted to the runs at the other sizes.
    `measured` is ln(throughput) there. None if the others are fewer than the law has parameters."""
    largest = workers.max()
    others = workers < largest
    kept = [name for name, is_other in zip(rounds, others, strict=True) if is_other]
    means = size_means(workers[others], logs[others], kept)
    if len(means.workers) < law.parameters:
        return None
    return float(np.expm1(predicted(fit_means(law, means), largest) - measured))
