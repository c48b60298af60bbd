"""Number of pairs of steps that are enough to measure the recorder's overhead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.records.run_spec import DataSpec, MeasureSpec, RunSpec, TrainSpec
from bench.train.selfcheck import pairs_of

SPEC = RunSpec(
    session_id="s", run_id="r", suite="s", case_name="c", workload="spiral_mlp", workload_options={}, data=DataSpec(),
    train=TrainSpec(), measure=MeasureSpec(steps=100, repeats=5), strategy="single", strategy_options={},
    scaling="none", axis="ranks", workers=1, world_size=1, nodes=1, ranks_per_node=1, threads=1, repeat=0,
    device_type="cpu", batch_per_rank=8, global_batch=8,
)  # fmt: skip


@pytest.mark.parametrize(
    ("repeats", "trained", "pairs"),
    [(5, 120, 6), (5, 119, 0), (1, 600, 6), (3, 1_050, 31), (3, 1_000_000, 100)],
)
def test_by_itself_a_size_spends_two_steps_of_a_hundred_where_an_interval_comes_of_it(
    repeats: int, trained: int, pairs: int
) -> None:
    measure = MeasureSpec(steps=trained - 5, repeats=repeats)
    assert pairs_of(replace(SPEC, measure=measure), trained) == pairs
    assert 2 * pairs <= 0.02 * repeats * trained


@pytest.mark.parametrize(("steps", "pairs"), [(0, 0), (1, 1), (12, 6), (1_000, 500)])
def test_a_number_of_steps_is_kept_to_and_an_odd_one_rounded_up(steps: int, pairs: int) -> None:
    assert pairs_of(replace(SPEC, measure=MeasureSpec(steps=10, selfcheck=steps)), 15) == pairs


def test_only_the_first_repeat_has_them_and_no_probing_run() -> None:
    measure = MeasureSpec(steps=10, selfcheck=12)
    assert pairs_of(replace(SPEC, measure=measure, repeat=1), 15) == 0
    assert pairs_of(replace(SPEC, measure=measure, probe=True), 15) == 0
