"""Intervals hold the truth as often as they say: a small part of benchmarks/coverage.py, with its seed."""

from __future__ import annotations

import numpy as np

from benchmarks.coverage import (
    PROCESSES,
    SESSIONS,
    STEPS,
    TRUTHS,
    over_repeats,
    over_rounds,
    over_steps,
)


def shares(printed):
    return [float(cell.removesuffix(" %")) for cell in printed]


def test_intervals_of_throughput_and_speedup_hold_a_log_normal_truth_in_95_of_100():
    for truth in TRUTHS[:2]:
        throughput, speedup = shares(over_repeats(truth, [4], 400, np.random.default_rng(1)))
        assert 92 <= throughput <= 98, truth.name
        assert 92 <= speedup <= 98, truth.name


def test_intervals_hold_the_truth_also_if_rounds_are_added_until_they_are_narrow():
    for truth in TRUTHS[-3:-1]:
        throughput, speedup = shares(over_repeats(truth, [3], 400, np.random.default_rng(1)))
        assert throughput >= 93, truth.name
        assert speedup >= 93, truth.name


def test_intervals_of_the_median_step_hold_that_of_independent_steps_in_95_of_100_or_more():
    for held, null in over_steps(PROCESSES[0], 400, np.random.default_rng(1)):
        assert held >= 0.93
        assert null <= 0.2


def test_intervals_of_the_median_step_hold_that_of_correlated_steps_in_90_of_100_from_200_steps_on():
    for process in PROCESSES[1:3]:
        shares = over_steps(process, 1_000, np.random.default_rng(1))
        assert min(held for held, _ in shares[STEPS.index(200) :]) >= 0.9, process.name


def test_most_runs_of_fewer_than_ten_autocorrelation_times_have_no_interval():
    (_, null), *_ = over_steps(PROCESSES[2], 400, np.random.default_rng(1))
    assert null > 0.8


def _percents(cell: str) -> list[float]:
    return [float(part.split(" ")[0]) for part in cell.split(", ")]


def test_under_drift_intervals_within_rounds_hold_the_truth_in_a_random_order_and_not_in_a_fixed_one():
    *_, random, fixed = SESSIONS
    (cell,) = over_rounds(random, [3], 300, np.random.default_rng(1))
    held, without_rounds, width, error = _percents(cell)
    assert held >= 90
    assert without_rounds >= 99
    assert width < 0.6
    assert abs(error) < 0.5
    (cell,) = over_rounds(fixed, [3], 300, np.random.default_rng(1))
    assert _percents(cell)[0] < 75
    assert _percents(cell)[3] < -2
