"""The rule idle_stages: its advice can be planned, and ranks that share cores are not its subject."""

from __future__ import annotations

import pytest

from analysis.database import schema
from bench.strategies._layout import Layout
from tests.factory import Case, make_session
from tests.pipeline_rows import add_pipeline_steps

RULE = [rule for rule in schema.shipped_rules() if rule.finding == "idle_stages"]


@pytest.mark.parametrize(
    ("ranks", "schedule", "micro_batches", "batch", "advised"),
    [
        (3, "interleaved", 4, 48, 12),
        (8, "interleaved", 11, 96, 32),
        (2, "gpipe", 4, 32, 16),
        (4, "1f1b", 4, 30, 28),  # no multiple of 4 divides 30
    ],
)
def test_it_advises_the_fewest_micro_batches_that_are_enough(
    results, read_back, ranks, schedule, micro_batches, batch, advised
):
    case = Case(
        name="pp",
        strategy="pp",
        strategy_options={"schedule": schedule},
        step_ms={ranks: 20.0},
        ranks_per_node=8,
        scaling="none",
        batch=batch,
        accumulate=micro_batches,
        repeats=1,
    )
    folder = make_session(results, [case])
    add_pipeline_steps(folder / f"pp.1x{ranks}.r0", pipeline_ms=18.0, idle_share=(0.3,) * ranks)
    (row,) = read_back(rules=RULE)("FROM diagnosis WHERE finding = 'idle_stages'")
    assert f"with {advised}, equal stages would wait for 10 % or less" in row["advice"]
    stages = 2 if schedule == "interleaved" else 1
    assert (ranks - 1) / (stages * advised + ranks - 1) <= 0.1
    assert Layout(pp=ranks, schedule=schedule, stages_per_rank=stages).too_few(advised) is None
    assert ("do not divide so" in row["advice"]) == (batch % advised > 0)


def test_ranks_that_share_cores_are_left_out(results, read_back):
    case = Case(name="pp", strategy="pp", step_ms={2: 20.0}, repeats=1, oversubscribed=frozenset({2}))
    folder = make_session(results, [case])
    add_pipeline_steps(folder / "pp.1x2.r0", pipeline_ms=18.0, idle_share=(0.3, 0.3))
    assert read_back(rules=RULE)("FROM diagnosis WHERE finding = 'idle_stages'") == []
