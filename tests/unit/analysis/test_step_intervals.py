"""The interval of a run's median step, by order statistics."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from analysis.database import schema

STEPS = [*range(1, 400), 1000, 4095, 10_000, 99_999]


@pytest.fixture
def found(in_memory):
    """Steps of a run -> the interval's two ends, where the k-th shortest of n steps takes k ns."""
    in_memory.begin()
    in_memory.execute("CREATE OR REPLACE TEMP TABLE sizes AS SELECT unnest($1::INTEGER[]) AS n", [STEPS])
    in_memory.execute(
        "INSERT INTO step_stats BY NAME SELECT 's' AS session_id, n::VARCHAR AS run_id, 0 AS attempt, k AS step, "
        "'measured' AS kind, k + 1 AS step_ns, 0 AS nonfinite_losses FROM sizes, range(n) AS _(k) ORDER BY hash(k)"
    )
    in_memory.execute(
        "INSERT INTO run_rank_stats BY NAME SELECT 's' AS session_id, n::VARCHAR AS run_id, 0 AS attempt, 0 AS rank, "
        "n AS measured_steps FROM sizes"
    )
    derived = in_memory.sql(schema.text("run_stats"))
    rows = derived.select("run_id, step_ns_median_lo, step_ns_median_hi").fetchall()
    yield {int(run_id): (low, high) for run_id, low, high in rows}
    in_memory.rollback()


def test_the_ends_are_order_statistics_that_hold_the_median_with_95_percent(found):
    for steps, (low, high) in found.items():
        if low is not None:
            assert high == steps + 1 - low
            assert binom.cdf(high - 1, steps, 0.5) - binom.cdf(low - 1, steps, 0.5) >= 0.95


def test_the_interval_is_as_narrow_as_it_can_be_or_one_rank_wider(found):
    for steps, (low, _) in found.items():
        narrowest = int(
            binom.ppf(0.025, steps, 0.5)
        )  # the rank whose predecessor has less than that below it
        assert (low or 0) in (narrowest, narrowest - 1), steps


def test_below_six_steps_no_interval_holds_the_median_with_95_percent(found):
    assert sorted(steps for steps, (low, _) in found.items() if low is None) == [1, 2, 3, 4, 5]
    assert found[6] == (1, 6)
