"""The interval of a run's median step, by order statistics."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from analysis.database import schema

STEPS = [*range(1, 400), 1000, 4095, 10_000, 99_999]


def derived(connection, step_ns):
    """(run, step times in order of steps) -> run: its lower and upper end and its autocorrelation time."""
    runs = [run for run, times in step_ns.items() for _ in times]
    steps = [step for times in step_ns.values() for step in range(len(times))]
    times = [time for times in step_ns.values() for time in times]
    connection.begin()
    made_up = pa.table({"run_id": list(map(str, runs)), "step": steps, "step_ns": times})
    connection.register("made_up", made_up)
    connection.execute(
        "INSERT INTO step_stats BY NAME SELECT 's' AS session_id, run_id, 0 AS attempt, step, 'measured' AS kind, "
        "step_ns, 0 AS nonfinite_losses FROM made_up"
    )
    connection.execute(
        "INSERT INTO run_rank_stats BY NAME SELECT 's' AS session_id, run_id, 0 AS attempt, 0 AS rank, "
        "count(*) AS measured_steps FROM made_up GROUP BY run_id"
    )
    columns = "run_id, step_ns_median_lo, step_ns_median_hi, autocorrelation_steps"
    rows = connection.sql(schema.text("run_stats")).select(columns).fetchall()
    connection.rollback()
    connection.unregister("made_up")
    return {type(next(iter(step_ns)))(run): found for run, *found in rows}


@pytest.fixture
def found(in_memory):
    """Steps of a run -> the interval's two ends, where the k-th shortest of n steps takes k ns.

    Short and long steps alternate, so that no step resembles the one before."""
    alternating = {n: [k // 2 + 1 if k % 2 == 0 else n - k // 2 for k in range(n)] for n in STEPS}
    return {n: (low, high) for n, (low, high, _) in derived(in_memory, alternating).items()}


def test_the_ends_are_order_statistics_that_hold_the_median_with_95_percent(found):
    for steps, (low, high) in found.items():
        if low is not None:
            assert high == steps + 1 - low
            assert binom.cdf(high - 1, steps, 0.5) - binom.cdf(low - 1, steps, 0.5) >= 0.95


def test_the_interval_is_as_narrow_as_it_can_be_or_one_rank_wider(found):
    for steps, (low, _) in found.items():
        if low is not None:
            narrowest = int(
                binom.ppf(0.025, steps, 0.5)
            )  # the rank whose predecessor has less than that below it
            assert low in (narrowest, narrowest - 1), steps


def test_below_ten_steps_there_is_no_interval(found):
    assert sorted(steps for steps, (low, _) in found.items() if low is None) == [*range(1, 10)]


def test_steps_that_all_take_equally_long_have_an_interval_without_width(in_memory):
    assert derived(in_memory, {"equal": [7] * 40}) == {"equal": [7, 7, 1]}


def test_a_run_that_only_becomes_slower_has_no_interval(in_memory):
    found = derived(in_memory, {steps: list(range(1, steps + 1)) for steps in (20, 200, 5000)})
    assert {steps: low for steps, (low, *_) in found.items()} == {20: None, 200: None, 5000: None}


@pytest.mark.parametrize("steps", [400, 20_000])
def test_steps_that_come_in_equal_groups_count_once_per_group(in_memory, steps):
    """Each value lasts five steps: the sum over all lags of the correlation, 1 - |lag| / 5, is 5."""
    rng = np.random.default_rng(7)
    runs = {run: np.repeat(rng.permutation(steps // 5) + 1, 5).tolist() for run in range(40)}
    assert np.median([time for *_, time in derived(in_memory, runs).values()]) == pytest.approx(5, rel=0.2)
