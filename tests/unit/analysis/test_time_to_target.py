"""Time to a target: what each size needed, and how much faster it is than its baseline, planted and found."""

from __future__ import annotations

import math
import statistics

import pytest

from tests.factory import Case
from tests.unit.analysis.conftest import measured, session_of

STEPS = 200


def case(name="weak", **changes):
    """64 examples per rank and step, a validation of 50 ms every 10 steps, 0.4 s of start-up; 10 and 12.5 ms a step."""
    given = {
        "step_ms": {1: 10.0, 2: 12.5}, "scaling": "weak", "repeats": 7, "warmup": 2, "steps": STEPS - 2,
        "validate_every": 10, "until_loss": 0.5, "setup_s": 0.4, "validation_ms": 50.0,
    }  # fmt: skip
    return Case(name=name, **(given | changes))


def at(**steps):
    """`at(one=[40, 50], two=[30, None])`: steps to the target of the repeats at 1 and 2 workers; null: missed."""
    return {
        (workers, repeat): step
        for workers, of_size in ((1, steps["one"]), (2, steps["two"]))
        for repeat, step in enumerate(of_size)
    }


def seconds(step, step_s):
    return 0.4 + step * step_s + step / 10 * 0.05


def added(one, two):
    """The ratio that two independent ratios make together."""
    return math.exp(math.hypot(math.log(one), math.log(two)))


def one_row(ask, what="*", where="workers = 2"):
    (row,) = ask(f"SELECT {what} FROM time_to_target WHERE {where}")
    return row


ONE = [40, 50, 40, 60, 50, 40, 50]
TWO = [30, 20, 40, 30, 20, 50, 40]


@measured(case(target_step=at(one=ONE, two=TWO)))
def test_a_size_has_the_medians_of_its_runs_and_the_ratio_of_times_to_its_baseline(ask):
    row = one_row(ask)
    assert (row["reached"], row["missed"], row["steps"]) == (7, 0, 30)
    assert row["seconds"] == pytest.approx(seconds(30, 0.0125))
    assert (row["baseline_case"], row["baseline_workers"], row["is_baseline"]) == ("weak", 1, False)
    assert row["speedup"] == pytest.approx(seconds(50, 0.01) / seconds(30, 0.0125))
    base = one_row(ask, where="workers = 1")
    assert (base["is_baseline"], base["speedup"], base["speedup_lo"]) == (True, None, None)


@measured(case(target_step=at(one=ONE, two=TWO)))
def test_an_interval_of_seven_runs_spans_all_of_them_and_that_of_a_ratio_adds_both_as_squares(ask):
    row = one_row(ask)
    assert row["seconds_lo"] == pytest.approx(seconds(20, 0.0125))
    assert row["seconds_hi"] == pytest.approx(seconds(50, 0.0125))
    below = added(seconds(50, 0.01) / seconds(40, 0.01), seconds(50, 0.0125) / seconds(30, 0.0125))
    above = added(seconds(60, 0.01) / seconds(50, 0.01), seconds(30, 0.0125) / seconds(20, 0.0125))
    assert row["speedup_lo"] == pytest.approx(row["speedup"] / below)
    assert row["speedup_hi"] == pytest.approx(row["speedup"] * above)


@measured(case(repeats=5, target_step=at(one=ONE[:5], two=TWO[:5])))
def test_five_runs_have_a_median_without_an_interval(ask):
    row = one_row(ask)
    assert row["speedup"] == pytest.approx(seconds(50, 0.01) / seconds(30, 0.0125))
    assert (row["seconds_lo"], row["speedup_lo"], row["speedup_hi"]) == (None, None, None)


@measured(case(repeats=1, target_step=at(one=[40], two=[30])))
def test_a_single_repeat_has_no_interval(ask):
    row = one_row(ask)
    assert row["speedup"] == pytest.approx(seconds(40, 0.01) / seconds(30, 0.0125))
    assert (row["seconds_hi"], row["speedup_hi"]) == (None, None)


@measured(case(target_step=at(one=ONE, two=[20, None, 30, 40, None, 50, 30])))
def test_a_missed_run_counts_as_longer_than_all_that_reached_it(ask):
    row = one_row(ask)
    assert (row["reached"], row["missed"], row["steps"]) == (5, 2, 40)
    assert row["seconds"] == pytest.approx(seconds(40, 0.0125))
    assert row["seconds_lo"] == pytest.approx(seconds(20, 0.0125))
    assert row["seconds_hi"] is row["speedup_lo"] is None
    above = added(seconds(60, 0.01) / seconds(50, 0.01), row["seconds"] / row["seconds_lo"])
    assert row["speedup_hi"] == pytest.approx(row["speedup"] * above)


@measured(case(repeats=12, target_step=at(one=[40] * 12, two=[*range(20, 120, 10), 130, None])))
def test_an_interval_that_missed_runs_do_not_reach_is_known(ask):
    row = one_row(ask)
    assert row["steps"] == statistics.median([*range(20, 120, 10), 130, 140])
    assert row["seconds_lo"] == pytest.approx(seconds(40, 0.0125)), "the third of twelve"
    assert row["seconds_hi"] == pytest.approx(seconds(110, 0.0125))
    assert row["speedup_lo"] == pytest.approx(seconds(40, 0.01) / seconds(110, 0.0125)), (
        "the baseline is certain"
    )


@measured(
    case("half", repeats=6, target_step=at(one=[40] * 6, two=[30, None, 40, None, 30, None])),
    case("base", repeats=6, target_step=at(one=[None] * 4 + [40] * 2, two=[30] * 6)),
)
def test_if_half_or_more_missed_it_neither_median_nor_ratio_is_known(ask):
    half = one_row(ask, where="workers = 2 AND case_name = 'half'")
    assert (half["reached"], half["missed"]) == (3, 3)
    assert [half[name] for name in ("steps", "seconds", "seconds_lo", "speedup", "speedup_hi")] == [None] * 5
    of_missing_base = one_row(ask, where="workers = 2 AND case_name = 'base'")
    assert of_missing_base["seconds"] == pytest.approx(seconds(30, 0.0125))
    assert (of_missing_base["speedup"], of_missing_base["speedup_lo"]) == (None, None)


@measured(
    case(
        target_step=at(one=[40] * 7, two=[30] * 7),
        statuses={(2, 0): "timeout", (2, 1): "skipped"},
    )
)
def test_a_run_that_ends_early_missed_the_target_and_one_that_never_began_is_none(ask):
    row = one_row(ask)
    assert (row["reached"], row["missed"]) == (5, 1)


@measured(case(until_loss=None))
def test_a_case_without_a_target_has_no_row(ask):
    assert ask("FROM time_to_target") == []


FORTY = {(1, repeat): 40 for repeat in range(7)}
SMALL = case("small", step_ms={1: 10.0}, target_step=FORTY)
LARGE = {"step_ms": {1: 20.0}, "batch": 256, "baseline": "small"}


@measured(SMALL, case("large", **LARGE, target_step={(1, repeat): 20 for repeat in range(7)}))
def test_a_case_with_another_batch_is_compared_with_the_baseline_that_it_names(ask):
    row = one_row(ask, where="case_name = 'large'")
    assert row["baseline_case"] == "small"
    assert row["speedup"] == pytest.approx(seconds(40, 0.01) / seconds(20, 0.02))


OTHERWISE = [
    {"until_loss": 0.4}, {"workload": "mnist_cnn"}, {"options": {"hidden": [8]}}, {"device_type": "cuda"},
]  # fmt: skip


@pytest.mark.parametrize(
    "ask",
    [session_of(SMALL, case("large", **LARGE, target_step=FORTY, **changes)) for changes in OTHERWISE],
    indirect=True,
    ids=[*map(str, OTHERWISE)],
)
def test_trainings_that_differ_in_more_than_batch_and_strategy_are_not_compared(ask):
    row = one_row(ask, where="case_name = 'large'")
    assert row["steps"] == 40
    assert (row["baseline_case"], row["speedup"]) == (None, None)
