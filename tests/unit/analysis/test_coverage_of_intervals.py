"""Intervals hold the truth as often as they say: a small part of benchmarks/coverage.py, with its seed."""

from __future__ import annotations

import numpy as np

from benchmarks.coverage import PROCESSES, TRUTHS, over_repeats, over_steps


def shares(printed):
    return [float(cell.removesuffix(" %")) for cell in printed]


def test_intervals_of_throughput_and_speedup_hold_a_log_normal_truth_in_95_of_100():
    for truth in TRUTHS[:2]:
        throughput, speedup = shares(over_repeats(truth, [4], 400, np.random.default_rng(1)))
        assert 92 <= throughput <= 98, truth.name
        assert 92 <= speedup <= 98, truth.name


def test_intervals_of_the_median_step_hold_that_of_independent_steps_in_95_of_100_or_more():
    assert min(shares(over_steps(PROCESSES[0], 400, np.random.default_rng(1)))) >= 93
